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
    text = fmt::format("Outputs agree with the double-precision reference to {:.0e} of their scale.", worst);
  }
  if (!wrong.empty()) {
    text += fmt::format("{}Wrong results, therefore not timed: {}.", text.empty() ? "" : " ",
                        fmt::join(wrong, ", "));
  }
  return text;
}

std::string missing(const RunData& data) {
  std::map<std::string, std::string> columns;  // column -> why its cells are N/A
  for (const CellRecord& cell : data.cells) {
    if (cell.state == "na" && cell.reason != "wrong-result") {
      columns[cell.column] = cell.reason + ": " + cell.message;
    }
  }
  std::string text;
  for (const auto& [column, why] : columns) {
    text += fmt::format("N/A: {}: {}\n", column, why);
  }
  return text;
}

}  // namespace

std::string render_answer(const RunData& data) {
  const auto answers = by_shape(data);
  std::string out;
  std::map<std::string, std::vector<std::string>> wins;
  for (const ShapeAnswer& answer : answers) {
    if (answer.fastest != nullptr) {
      wins[answer.fastest->column].push_back(answer.shape);
    }
  }
  constexpr std::size_t kMostSentences = 6;
  std::size_t told = 0;
  for (const ShapeAnswer& answer : answers) {
    const bool edge = told < kMostSentences - 1 || &answer == &answers.back();
    if (answer.fastest != nullptr && (answers.size() <= kMostSentences || edge)) {
      out += sentence(data, answer) + ".\n";
      ++told;
    }
  }
  if (answers.size() > kMostSentences) {
    for (const auto& [column, shapes] : wins) {
      out += fmt::format("{} has the lowest median at {} of {} shapes: {}.\n", column, shapes.size(),
                         answers.size(), fmt::join(shapes, ", "));
    }
  }
  const std::string agreed = agreement(data);
  return out + (agreed.empty() ? "" : agreed + "\n") + missing(data);
}

}  // namespace touchstone
