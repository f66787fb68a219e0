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
    return cell.state == "proven" ? "equal" : "-";
  }
  return human_time(std::chrono::nanoseconds(static_cast<std::int64_t>(*cell.median_ns)));
}

std::string shape_text(const CellRecord& cell) {
  std::vector<std::string> parts;
  std::vector<std::string> others;
  for (const auto& [name, value] : cell.dimensions) {
    if (value != cell.batch && value != cell.sequence) {
      others.push_back(fmt::format("{}={}", name, value));
    }
  }
  if (cell.batch > 0) {
    parts.push_back(std::to_string(cell.batch));
  }
  if (cell.sequence > 0) {
    parts.push_back(std::to_string(cell.sequence));
  }
  parts.insert(parts.end(), others.begin(), others.end());
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
