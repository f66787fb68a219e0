// SPDX-License-Identifier: Apache-2.0
// The answer in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
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

// "openvino is fastest at 1×8, 1.43× [1.40, 1.46] over onnxruntime": the speed-up is the ratio's reciprocal.
std::string sentence(const RunData& data, const ShapeAnswer& answer) {
  const CellRecord& fastest = *answer.fastest;
  if (answer.cells.size() == 1) {
    return fmt::format("{} takes {} at {}; no other column has a time there", fastest.column,
                       cell_text(fastest), answer.shape);
  }
  std::string text = fmt::format("{} is fastest at {}", fastest.column, answer.shape);
  const RatioRecord* ratio = ratio_of(data, fastest);
  if (ratio != nullptr && ratio->low && ratio->high) {
    if (ratio->call == "same") {
      text += fmt::format(", but the same as {} within the interval ({:.2f}× [{:.2f}, {:.2f}])",
                          data.run.baseline, 1 / ratio->ratio, 1 / *ratio->high, 1 / *ratio->low);
    } else {
      text += fmt::format(", {:.2f}× [{:.2f}, {:.2f}] over {}", 1 / ratio->ratio, 1 / *ratio->high,
                          1 / *ratio->low, data.run.baseline);
    }
  } else if (fastest.column == data.run.baseline && answer.cells.size() > 1) {
    // The baseline won: the nearest other is what it is measured against.
    const CellRecord* second = nullptr;
    for (const CellRecord* cell : answer.cells) {
      if (cell != &fastest && (second == nullptr || *cell->median_ns < *second->median_ns)) {
        second = cell;
      }
    }
    const RatioRecord* against = ratio_of(data, *second);
    if (against != nullptr && against->low && against->high) {
      text += against->call == "same"
                  ? fmt::format(", but the same as {} within the interval ({:.2f}× [{:.2f}, {:.2f}])",
                                second->column, against->ratio, *against->low, *against->high)
                  : fmt::format(", {:.2f}× [{:.2f}, {:.2f}] over {}", against->ratio, *against->low,
                                *against->high, second->column);
    }
  }
  return text + fmt::format(" ({})", cell_text(fastest));
}

// Whether the other's interval lies wholly above the fastest's.
bool clearly_slower(const CellRecord& other, const CellRecord& fastest) {
  const auto low = other.across_low_ns ? other.across_low_ns : other.low_ns;
  const auto high = fastest.across_high_ns ? fastest.across_high_ns : fastest.high_ns;
  return low && high && *low > *high;
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
  for (const CellRecord& cell : data.cells) {
    if (cell.state == "na" && cell.reason == "wrong-result") {
      wrong.insert(cell.column);
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
  if (!wrong.empty()) {
    text += fmt::format("Wrong results, therefore {}: {}.\n",
                        data.run.kind == "verify" ? "different" : "not timed", fmt::join(wrong, ", "));
  }
  return text;
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
  return out + agreement(data) + render_missing(data);
}

}  // namespace touchstone
