// SPDX-License-Identifier: Apache-2.0
// Means over models, as Hugging Face's comparison of 2019 gives them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "results/views/views.h"

namespace touchstone {
namespace {

using Times = std::map<std::string, std::map<std::string, double>>;  // shape -> column -> milliseconds

Times times_of(const RunData& run) {
  Times times;
  for (const CellRecord& cell : run.cells) {
    if (cell.median_ns && cell.state != "na") {
      times[shape_text(cell)][cell.column] = *cell.median_ns / 1e6;
    }
  }
  return times;
}

// The shapes at which every column has a time: a mean over others would compare different work.
std::vector<std::string> common_shapes(const Times& times, const std::vector<std::string>& columns) {
  std::vector<std::string> shapes;
  for (const auto& [shape, row] : times) {
    if (std::all_of(columns.begin(), columns.end(), [&, &r = row](const auto& c) { return r.contains(c); })) {
      shapes.push_back(shape);
    }
  }
  return shapes;
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Ratios multiply: their mean is the geometric one.
double geometric_mean(const std::vector<double>& ratios) {
  double sum = 0;
  for (const double ratio : ratios) {
    sum += std::log(ratio);
  }
  return std::exp(sum / static_cast<double>(ratios.size()));
}

// Columns that have a time in any run, in the order in which they were planned.
std::vector<std::string> timed_columns(const std::vector<RunData>& runs) {
  std::vector<std::string> columns;
  for (const RunData& run : runs) {
    for (const std::string& column : columns_of(run)) {
      const bool timed = std::any_of(run.cells.begin(), run.cells.end(), [&](const CellRecord& cell) {
        return cell.column == column && cell.median_ns && cell.state != "na";
      });
      if (timed && std::find(columns.begin(), columns.end(), column) == columns.end()) {
        columns.push_back(column);
      }
    }
  }
  return columns;
}

std::string row_text(const std::string& name, std::size_t cells, const std::vector<double>& means) {
  std::string row = fmt::format("| {} | {} |", name, cells);
  for (const double value : means) {
    row += fmt::format(" {:.1f} |", value);
  }
  return row + "\n";
}

// "TorchScript took 0.93 of eager's time", over all cells that have both.
std::string torchscript_text(const std::vector<RunData>& runs) {
  std::vector<double> ratios;
  for (const RunData& run : runs) {
    for (const auto& [shape, row] : times_of(run)) {
      const auto eager = row.find("pytorch:eager");
      const auto script = row.find("pytorch:torchscript");
      if (eager != row.end() && script != row.end()) {
        ratios.push_back(eager->second / script->second);
      }
    }
  }
  if (ratios.empty()) {
    return "";
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  return fmt::format(
      "TorchScript is {:.2f}× as fast as eager (geometric mean of {} cells, {:.2f} to {:.2f}).\n",
      geometric_mean(ratios), ratios.size(), *least, *most);
}

const RunData* run_of(const std::vector<RunData>& runs, const std::string& model) {
  const auto found =
      std::find_if(runs.begin(), runs.end(), [&](const RunData& run) { return run.run.model == model; });
  return found == runs.end() ? nullptr : &*found;
}

std::string distilled_text(const std::vector<RunData>& runs) {
  constexpr std::pair<const char*, const char*> kPairs[] = {{"distilbert-base-cased", "bert-base-cased"},
                                                            {"distilbert-base-uncased", "bert-base-uncased"},
                                                            {"distilgpt2", "gpt2"}};
  std::string text;
  for (const auto& [distilled, parent] : kPairs) {
    const RunData* small = run_of(runs, distilled);
    const RunData* large = run_of(runs, parent);
    if (small == nullptr || large == nullptr) {
      continue;
    }
    std::vector<double> ratios;
    const Times theirs = times_of(*large);
    for (const auto& [shape, row] : times_of(*small)) {
      for (const auto& [column, time] : row) {
        if (theirs.contains(shape) && theirs.at(shape).contains(column)) {
          ratios.push_back(time / theirs.at(shape).at(column));
        }
      }
    }
    if (!ratios.empty()) {
      text += fmt::format("{} takes {:.2f} of {}'s time (geometric mean of {} cells).\n", distilled,
                          geometric_mean(ratios), parent, ratios.size());
    }
  }
  return text;
}

}  // namespace

std::string render_averages(const std::vector<RunData>& runs) {
  const std::vector<std::string> columns = timed_columns(runs);
  std::string out = fmt::format("| model | cells | {} |\n| --- | ---: |", fmt::join(columns, " | "));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    out += " ---: |";
  }
  out += "\n";
  std::vector<std::vector<double>> all(columns.size());
  for (const RunData& run : runs) {
    const Times times = times_of(run);
    const auto shapes = common_shapes(times, columns);
    if (shapes.empty()) {
      out += fmt::format("| {} | 0 |{}\n", run.run.model,
                         fmt::join(std::vector<std::string>(columns.size(), " N/A |"), ""));
      continue;
    }
    std::vector<double> means;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      std::vector<double> own;
      for (const std::string& shape : shapes) {
        own.push_back(times.at(shape).at(columns[i]));
      }
      all[i].insert(all[i].end(), own.begin(), own.end());
      means.push_back(mean(own));
    }
    out += row_text(run.run.model, shapes.size(), means);
  }
  if (!columns.empty() && !all.front().empty()) {
    std::vector<double> means;
    std::transform(all.begin(), all.end(), std::back_inserter(means), mean);
    out += row_text("mean over all cells", all.front().size(), means);
  }
  out +=
      "\nMilliseconds: medians, averaged over the cells at which every column has a time; more cells, larger "
      "ones "
      "among them, make a model's mean larger.\n";
  return out + torchscript_text(runs) + distilled_text(runs);
}

}  // namespace touchstone
