// SPDX-License-Identifier: Apache-2.0
// Markdown: the published layout, and the full table.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "results/views/views.h"

namespace touchstone {
namespace {

std::string row(const std::vector<std::string>& fields) {
  return fmt::format("| {} |\n", fmt::join(fields, " | "));
}

std::string rule(std::size_t columns) {
  std::string line = "|";
  for (std::size_t i = 0; i < columns; ++i) {
    line += i == 0 ? " --- |" : " ---: |";
  }
  return line + "\n";
}

std::string article_text(const CellRecord& cell) {
  if (cell.state == "na") {
    return "N/A (" + cell.reason + ")";
  }
  if (!cell.median_ns) {
    return "";
  }
  const double ms = *cell.median_ns / 1e6;
  return fmt::format("{:.{}f}{}", ms, ms < 10 ? 2 : 1, cell.state == "budget" ? "*" : "");
}

const CellRecord* find(const RunData& data, const std::string& column, std::int64_t batch,
                       std::int64_t sequence) {
  for (const CellRecord& cell : data.cells) {
    if (cell.column == column && cell.batch == batch && cell.sequence == sequence) {
      return &cell;
    }
  }
  return nullptr;
}

}  // namespace

std::string render_article(const RunData& data) {
  const auto columns = columns_of(data);
  std::set<std::int64_t> lengths;
  std::set<std::int64_t> batches;
  bool wide = false;
  for (const CellRecord& cell : data.cells) {
    lengths.insert(cell.sequence);
    batches.insert(cell.batch);
    wide = wide || cell.state == "budget";
  }
  std::string out;
  for (const std::int64_t length : lengths) {
    out += length > 0 ? fmt::format("## Sequence length {}\n\n", length) : "## All shapes\n\n";
    std::vector<std::string> head = {"batch"};
    head.insert(head.end(), columns.begin(), columns.end());
    out += row(head) + rule(head.size());
    for (const std::int64_t batch : batches) {
      std::vector<std::string> fields = {std::to_string(batch)};
      for (const std::string& column : columns) {
        const CellRecord* cell = find(data, column, batch, length);
        fields.push_back(cell == nullptr ? "" : article_text(*cell));
      }
      out += row(fields);
    }
    out += "\n";
  }
  out +=
      fmt::format("Median latency in milliseconds, {} on {}.{}\n", data.run.model,
                  data.environment.contains("cpu.model") ? data.environment.at("cpu.model") : "this machine",
                  wide ? " * the interval is wider than the target." : "");
  return out;
}

std::string render_table(const RunData& data) {
  const auto columns = columns_of(data);
  std::vector<std::string> shapes;
  std::map<std::pair<std::string, std::string>, const CellRecord*> by_place;
  for (const CellRecord& cell : data.cells) {
    const std::string shape = shape_text(cell);
    if (shapes.empty() || std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) {
      shapes.push_back(shape);
    }
    by_place[{shape, cell.column}] = &cell;
  }
  std::vector<std::string> head = {"shape"};
  head.insert(head.end(), columns.begin(), columns.end());
  std::string out = row(head) + rule(head.size());
  for (const std::string& shape : shapes) {
    std::vector<std::string> fields = {shape};
    for (const std::string& column : columns) {
      const auto found = by_place.find({shape, column});
      if (found == by_place.end()) {
        fields.emplace_back();
        continue;
      }
      const CellRecord& cell = *found->second;
      std::string text = cell_text(cell);
      if (cell.median_ns && cell.low_ns && cell.high_ns) {
        text += fmt::format(" ±{:.1f} %", 50 * (*cell.high_ns - *cell.low_ns) / *cell.median_ns);
      }
      fields.push_back(text + (cell.disturbed ? " (disturbed)" : ""));
    }
    out += row(fields);
  }
  return out;
}

std::string render_markdown(const RunData& data) {
  std::string out = render_table(data);
  std::istringstream reasons(render_missing(data));
  for (std::string line; std::getline(reasons, line);) {
    out += "\n- " + line;
  }
  for (const CellRecord& cell : data.cells) {
    if (cell.reason == "wrong-result") {
      out += fmt::format("\n- N/A (wrong-result): {}", cell.message);
    }
  }
  return out + (out.ends_with("|\n") ? "" : "\n");
}

}  // namespace touchstone
