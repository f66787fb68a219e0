// SPDX-License-Identifier: Apache-2.0
#include "results/published.h"

#include <charconv>
#include <filesystem>
#include <fstream>

#include "results/load.h"

namespace touchstone {
namespace {

// One record of RFC 4180; a quoted field may not span lines here.
std::vector<std::string> split_csv(const std::string& line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

template <class T>
bool parse_number(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

struct Reader {
  const std::string& path;
  std::map<std::string, std::size_t> columns;

  std::string field(const std::vector<std::string>& fields, const std::string& name) const {
    const auto found = columns.find(name);
    return found == columns.end() || found->second >= fields.size() ? "" : fields[found->second];
  }

  Result<CellRecord> cell(const std::vector<std::string>& fields, std::size_t line) const {
    CellRecord cell;
    cell.engine = field(fields, "engine");
    cell.mode = field(fields, "mode").empty() ? "default" : field(fields, "mode");
    cell.shape_mode = field(fields, "shape_mode");
    cell.device = field(fields, "device").empty() ? "cpu" : field(fields, "device");
    cell.precision = field(fields, "precision").empty() ? "f32" : field(fields, "precision");
    double milliseconds = 0;
    const std::string latency = field(fields, "latency_ms");
    if (!parse_number(field(fields, "batch"), cell.batch) ||
        !parse_number(field(fields, "sequence_length"), cell.sequence) ||
        (!latency.empty() && !parse_number(latency, milliseconds))) {
      return fail(Reason::kUsage, "{}:{}: batch, sequence_length or latency_ms is not a number", path, line);
    }
    cell.dimensions = {{"batch", cell.batch}, {"seq", cell.sequence}};
    cell.column = cell.engine + (cell.mode == "default" ? "" : ":" + cell.mode) +
                  (cell.shape_mode.empty() ? "" : " " + cell.shape_mode) +
                  (cell.device == "cpu" ? "" : " " + cell.device);
    cell.state = latency.empty() ? "na" : "done";
    cell.reason = field(fields, "reason");
    if (!latency.empty()) {
      cell.median_ns = milliseconds * 1e6;
    }
    return cell;
  }
};

}  // namespace

Result<RunData> read_published(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return fail(Reason::kStorage, "{}: cannot be read", path);
  }
  std::string line;
  std::getline(file, line);
  Reader reader{path, {}};
  for (const std::string& name : split_csv(line)) {
    reader.columns.emplace(name, reader.columns.size());
  }
  for (const char* needed : {"engine", "batch", "sequence_length", "latency_ms"}) {
    if (!reader.columns.contains(needed)) {
      return fail(Reason::kUsage, "{}:1: has no column '{}'; expected a table such as data/published holds",
                  path, needed);
    }
  }
  RunData data;
  data.run.kind = "published";
  data.run.model = std::filesystem::path(path).stem().string();
  for (std::size_t number = 2; std::getline(file, line); ++number) {
    if (line.empty()) {
      continue;
    }
    const auto fields = split_csv(line);
    TOUCHSTONE_ASSIGN(CellRecord cell, reader.cell(fields, number));
    if (const std::string model = reader.field(fields, "model"); !model.empty()) {
      data.run.model = model;
    }
    if (const std::string hardware = reader.field(fields, "hardware"); !hardware.empty()) {
      data.environment[cell.device == "cpu" ? "cpu.model" : "device.model"] = hardware;
    }
    data.cells.push_back(std::move(cell));
  }
  return data;
}

Result<RunData> load_any(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fail(Reason::kStorage, "{}: cannot be read", path);
  }
  std::string magic(15, '\0');
  file.read(magic.data(), static_cast<std::streamsize>(magic.size()));
  return magic == "SQLite format 3" ? load_latest_run(path) : read_published(path);
}

}  // namespace touchstone
