// SPDX-License-Identifier: Apache-2.0
// The answer in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "results/views/views.h"

namespace touchstone {
namespace {

struct ShapeAnswer {
  std::string shape;
  const CellRecord* fastest = nullptr;
  std::vector<const CellRecord*> cells;  // with a time
};

std::vector<ShapeAnswer> by_shape(const RunData& data) {
  std::vector<ShapeAnswer> answers;
  for (const CellRecord& cell : data.cells) {
    const std::string shape = shape_text(cell);
    auto found =
        std::find_if(answers.begin(), answers.end(), [&](const auto& a) { return a.shape == shape; });
    if (found == answers.end()) {
      answers.push_back({shape, nullptr, {}});
      found = answers.end() - 1;
    }
    if (!cell.median_ns || cell.state == "na") {
      continue;
    }
    found->cells.push_back(&cell);
    if (found->fastest == nullptr || *cell.median_ns < *found->fastest->median_ns) {
      found->fastest = &cell;
    }
  }
  return answers;
}

const RatioRecord* ratio_of(const RunData& data, const CellRecord& cell) {
  for (const RatioRecord& ratio : data.ratios) {
    if (ratio.cell == cell.id) {
      return &ratio;
    }
  }
  return nullptr;
}

// Whether the other's interval lies wholly above the fastest's.
bool clearly_slower(const CellRecord& other, const CellRecord& fastest) {
  const auto low = other.across_low_ns ? other.across_low_ns : other.low_ns;
  const auto high = fastest.across_high_ns ? fastest.across_high_ns : fastest.high_ns;
  return low && high && *low > *high;
}

// "1.43× [1.40, 1.46] over onnxruntime" or "but the same as onnxruntime within the interval (…)". `low` and
// `high` are of the speed-up.
std::string lead(const std::string& over, const std::string& call, double speed_up, double low, double high) {
  return call == "same" ? fmt::format(", but the same as {} within the interval ({:.2f}× [{:.2f}, {:.2f}])",
                                      over, speed_up, low, high)
                        : fmt::format(", {:.2f}× [{:.2f}, {:.2f}] over {}", speed_up, low, high, over);
}

// The fastest beside the column that it was paired with: the baseline, or the nearest other where the
// baseline won. Empty where there is no interval. `named` is that column.
std::string paired_lead(const RunData& data, const ShapeAnswer& answer, std::string& named) {
  const CellRecord& fastest = *answer.fastest;
  const RatioRecord* ratio = ratio_of(data, fastest);
  if (ratio != nullptr && ratio->low && ratio->high) {
    named = data.run.baseline;
    return lead(named, ratio->call, 1 / ratio->ratio, 1 / *ratio->high, 1 / *ratio->low);
  }
  if (fastest.column != data.run.baseline) {
    return "";
  }
  const CellRecord* second = nullptr;
  for (const CellRecord* cell : answer.cells) {
    if (cell != &fastest && (second == nullptr || *cell->median_ns < *second->median_ns)) {
      second = cell;
    }
  }
  const RatioRecord* against = ratio_of(data, *second);
  if (against == nullptr || !against->low || !against->high) {
    return "";
  }
  named = second->column;
  return lead(named, against->call, against->ratio, *against->low, *against->high);
}

std::string sentence(const RunData& data, const ShapeAnswer& answer) {
  const CellRecord& fastest = *answer.fastest;
  if (answer.cells.size() == 1) {
    return fmt::format("{} takes {} at {}; no other column has a time there", fastest.column,
                       cell_text(fastest), answer.shape);
  }
  std::string named;
  const std::string over = paired_lead(data, answer, named);
  if (!fastest.low_ns || over.empty()) {
    return fmt::format("{} has the lowest median at {} so far ({}), after too few rounds for an interval",
                       fastest.column, answer.shape, cell_text(fastest));
  }
  std::vector<std::string> level;
  for (const CellRecord* cell : answer.cells) {
    if (cell != &fastest && cell->column != named && !clearly_slower(*cell, fastest)) {
      level.push_back(cell->column);
    }
  }
  return fmt::format("{} is fastest at {}{} ({}){}", fastest.column, answer.shape, over, cell_text(fastest),
                     level.empty() ? "" : fmt::format("; no clear lead over {}", fmt::join(level, ", ")));
}

bool is_clear(const ShapeAnswer& answer) {
  return std::all_of(answer.cells.begin(), answer.cells.end(), [&](const CellRecord* cell) {
    return cell == answer.fastest || clearly_slower(*cell, *answer.fastest);
  });
}

// "batch 1 to 16 at length 8; batch 1 and 4 at length 64": batches that follow each other in the plan are a
// range.
std::string region(const std::vector<const CellRecord*>& cells, const std::set<std::int64_t>& batches) {
  std::map<std::int64_t, std::set<std::int64_t>> by_length;
  for (const CellRecord* cell : cells) {
    by_length[cell->sequence].insert(cell->batch);
  }
  std::vector<std::string> parts;
  for (const auto& [length, won] : by_length) {
    std::vector<std::string> ranges;
    for (auto batch = batches.begin(); batch != batches.end(); ++batch) {
      if (!won.contains(*batch)) {
        continue;
      }
      const std::int64_t first = *batch;
      while (std::next(batch) != batches.end() && won.contains(*std::next(batch))) {
        ++batch;
      }
      ranges.push_back(first == *batch ? std::to_string(first) : fmt::format("{} to {}", first, *batch));
    }
    parts.push_back(fmt::format("batch {}{}", fmt::join(ranges, ", "),
                                length > 0 ? fmt::format(" at length {}", length) : ""));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

// How many columns have a time anywhere.
std::size_t rivals(const std::vector<ShapeAnswer>& answers) {
  std::set<std::string> columns;
  for (const ShapeAnswer& answer : answers) {
    for (const CellRecord* cell : answer.cells) {
      columns.insert(cell->column);
    }
  }
  return columns.size();
}

// Where each winning column is fastest, for grids that are too large for a sentence a shape.
std::string regions(const std::vector<ShapeAnswer>& answers) {
  std::map<std::string, std::vector<const CellRecord*>> wins;
  std::set<std::int64_t> batches;
  std::vector<std::string> unclear;
  bool grid = true;
  std::size_t timed = 0;
  for (const ShapeAnswer& answer : answers) {
    if (answer.fastest == nullptr) {
      continue;
    }
    ++timed;
    wins[answer.fastest->column].push_back(answer.fastest);
    batches.insert(answer.fastest->batch);
    grid = grid && answer.fastest->batch > 0;
    if (!is_clear(answer)) {
      unclear.push_back(answer.shape);
    }
  }
  std::string out;
  if (rivals(answers) < 2) {
    return out;
  }
  for (const auto& [column, cells] : wins) {
    std::vector<std::string> shapes;
    for (const CellRecord* cell : cells) {
      shapes.push_back(shape_text(*cell));
    }
    out += fmt::format("{} has the lowest median at {} of {} shapes: {}.\n", column, cells.size(), timed,
                       grid ? region(cells, batches) : fmt::format("{}", fmt::join(shapes, ", ")));
  }
  if (!unclear.empty()) {
    out += fmt::format("At {} of them the lead is within the intervals, so they have no clear winner: {}.\n",
                       unclear.size(), fmt::join(unclear, ", "));
  }
  return out;
}

std::string agreement(const RunData& data) {
  double worst = -1;
  std::set<std::string> wrong;
  std::map<std::string, std::set<std::string>>
      otherwise;  // verdict -> columns: by something else, or not at all
  for (const CellRecord& cell : data.cells) {
    if (cell.state == "na" && cell.reason == "wrong-result") {
      wrong.insert(cell.column);
    } else if (cell.state != "na" && !cell.verdict.empty() && cell.verdict != "equal") {
      otherwise[cell.verdict].insert(cell.column);
    } else if (cell.max_error && cell.state != "na") {
      worst = std::max(worst, *cell.max_error);
    }
  }
  std::string text;
  if (worst >= 0) {
    text = worst == 0
               ? "Outputs are those of the double-precision reference, rounded.\n"
               : fmt::format("Outputs agree with the double-precision reference to {:.0e} of their scale.\n",
                             worst);
  }
  for (const auto& [verdict, columns] : otherwise) {
    text += fmt::format("{}: {}.\n", fmt::join(columns, ", "), verdict);
  }
  if (!wrong.empty()) {
    text += fmt::format("Wrong results, therefore {}: {}.\n",
                        data.run.kind == "verify" ? "different" : "not timed", fmt::join(wrong, ", "));
  }
  return text;
}

// The plan's thousand images: the time of all of them at each batch's fastest column.
std::string items_text(const RunData& data, const std::vector<const ShapeAnswer*>& timed) {
  const auto plan = nlohmann::json::parse(data.run.plan, nullptr, false);
  const std::int64_t items = plan.is_object() ? plan.value("items", std::int64_t{0}) : 0;
  const CellRecord* best = nullptr;
  const auto each = [](const CellRecord& cell) { return *cell.median_ns / static_cast<double>(cell.batch); };
  for (const ShapeAnswer* answer : timed) {
    if (answer->fastest->batch > 0 && (best == nullptr || each(*answer->fastest) < each(*best))) {
      best = answer->fastest;
    }
  }
  if (items < 1 || best == nullptr) {
    return "";
  }
  return fmt::format(
      "{} rows take {}, {} each, on {} at batch {}.\n", items,
      human_time(std::chrono::nanoseconds(std::llround(each(*best) * static_cast<double>(items)))),
      human_time(std::chrono::nanoseconds(std::llround(each(*best)))), best->column, best->batch);
}

}  // namespace

std::string render_answer(const RunData& data) {
  constexpr std::size_t kMostSentences = 6;
  const auto answers = by_shape(data);
  std::vector<const ShapeAnswer*> timed;
  for (const ShapeAnswer& answer : answers) {
    if (answer.fastest != nullptr) {
      timed.push_back(&answer);
    }
  }
  std::string out;
  if (timed.size() > kMostSentences) {
    // The corners of the grid in full, the rest by region.
    out += sentence(data, *timed.front()) + ".\n" + sentence(data, *timed.back()) + ".\n" + regions(answers);
  } else {
    for (const ShapeAnswer* answer : timed) {
      out += sentence(data, *answer) + ".\n";
    }
  }
  if (timed.empty() && data.run.kind == "run") {
    out += "No cell has a time.\n";
  }
  out += items_text(data, timed);
  return out + agreement(data) + render_missing(data);
}

}  // namespace touchstone
