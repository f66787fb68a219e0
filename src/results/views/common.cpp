// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "results/views/views.h"

namespace touchstone {

std::string cell_text(const CellRecord& cell) {
  if (cell.state == "na") {
    return "N/A " + cell.reason;
  }
  if (!cell.median_ns) {
    const bool open = cell.verdict.starts_with("not ");  // not judged, not proven
    return cell.state != "proven" ? "-" : open ? cell.verdict.substr(0, cell.verdict.find(':')) : "equal";
  }
  return human_time(std::chrono::nanoseconds(static_cast<std::int64_t>(*cell.median_ns)));
}

namespace {

// Takes the dimension that `value` stands for out of `dimensions`: the one whose name says so, else the first
// of that value.
void take(std::map<std::string, std::int64_t>& dimensions, std::int64_t value, std::string_view word) {
  auto found = dimensions.end();
  for (auto entry = dimensions.begin(); entry != dimensions.end(); ++entry) {
    if (entry->second != value) {
      continue;
    }
    if (found == dimensions.end() || entry->first.find(word) != std::string::npos) {
      found = entry;
    }
  }
  if (found != dimensions.end()) {
    dimensions.erase(found);
  }
}

}  // namespace

std::string shape_text(const CellRecord& cell) {
  std::vector<std::string> parts;
  auto others = cell.dimensions;
  if (cell.batch > 0) {
    parts.push_back(std::to_string(cell.batch));
    take(others, cell.batch, "batch");
  }
  if (cell.sequence > 0) {
    parts.push_back(std::to_string(cell.sequence));
    take(others, cell.sequence, "seq");
  }
  for (const auto& [name, value] : others) {
    parts.push_back(fmt::format("{}={}", name, value));
  }
  return parts.empty() ? "its only shape" : fmt::format("{}", fmt::join(parts, "×"));
}

std::vector<std::string> columns_of(const RunData& data) {
  std::vector<std::string> columns;
  for (const CellRecord& cell : data.cells) {
    if (std::find(columns.begin(), columns.end(), cell.column) == columns.end()) {
      columns.push_back(cell.column);
    }
  }
  return columns;
}

}  // namespace touchstone
