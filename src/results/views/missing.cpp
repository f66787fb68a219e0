// SPDX-License-Identifier: Apache-2.0
// Which cells have no time, and why: columns that share a reason in one line.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "results/views/views.h"

namespace touchstone {
namespace {

// A reason with the columns and shapes that it holds for.
struct Absence {
  std::string reason, message;
  std::vector<std::string> columns, shapes;
};

std::vector<Absence> absences(const RunData& data) {
  std::vector<Absence> all;  // one column each
  for (const CellRecord& cell : data.cells) {
    if (cell.state != "na" || cell.reason == "wrong-result") {
      continue;
    }
    // The column is named before the message already.
    const std::string prefix = cell.column + ": ";
    const std::string message =
        cell.message.starts_with(prefix) ? cell.message.substr(prefix.size()) : cell.message;
    auto found = std::find_if(all.begin(), all.end(), [&](const Absence& other) {
      return other.columns.front() == cell.column && other.reason == cell.reason && other.message == message;
    });
    if (found == all.end()) {
      all.push_back({cell.reason, message, {cell.column}, {}});
      found = all.end() - 1;
    }
    found->shapes.push_back(shape_text(cell));
  }
  std::vector<Absence> merged;
  for (Absence& one : all) {
    const auto found = std::find_if(merged.begin(), merged.end(), [&](const Absence& other) {
      return other.reason == one.reason && other.message == one.message && other.shapes == one.shapes;
    });
    if (found == merged.end()) {
      merged.push_back(std::move(one));
    } else {
      found->columns.push_back(one.columns.front());
    }
  }
  return merged;
}

}  // namespace

std::string render_missing(const RunData& data) {
  std::set<std::string> shapes;
  for (const CellRecord& cell : data.cells) {
    shapes.insert(shape_text(cell));
  }
  const std::size_t columns = columns_of(data).size();
  std::string text;
  for (const Absence& absence : absences(data)) {
    const bool all = absence.columns.size() == columns && columns > 1;
    text += fmt::format("N/A ({}): {}", absence.reason,
                        all ? "every column" : fmt::format("{}", fmt::join(absence.columns, ", ")));
    if (absence.shapes.size() < shapes.size()) {
      text += fmt::format(" at {}", fmt::join(absence.shapes, ", "));
    }
    text += ": " + absence.message + "\n";
  }
  return text;
}

}  // namespace touchstone
