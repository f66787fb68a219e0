// SPDX-License-Identifier: Apache-2.0
#include "results/comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace touchstone {
namespace {

bool modes_match(const CellRecord& a, const CellRecord& b) {
  const auto plain = [](const CellRecord& cell) {
    return cell.mode.empty() ? std::string("default") : cell.mode;
  };
  return a.engine == b.engine && plain(a) == plain(b) && a.device == b.device && a.precision == b.precision;
}

// The cell of `cells` that stands for the same thing: one of the same shape mode, or the only one.
const CellRecord* partner(const CellRecord& cell, const std::vector<CellRecord>& cells) {
  const CellRecord* loose = nullptr;
  for (const CellRecord& other : cells) {
    if (!modes_match(cell, other) || other.batch != cell.batch || other.sequence != cell.sequence) {
      continue;
    }
    if (other.shape_mode == cell.shape_mode) {
      return &other;
    }
    if (other.shape_mode.empty() || cell.shape_mode.empty()) {
      loose = &other;
    }
  }
  return loose;
}

bool clearly_faster(const CellRecord& a, const CellRecord& b) {
  if (a.high_ns && b.low_ns) {
    return *a.high_ns < *b.low_ns;
  }
  return *a.median_ns < *b.median_ns;
}

void judge_orderings(const std::vector<const ComparedCell*>& shape, Comparison& comparison) {
  for (const ComparedCell* x : shape) {
    for (const ComparedCell* y : shape) {
      if (*x->b->median_ns >= *y->b->median_ns) {
        continue;
      }
      Claim claim{shape_text(*x->a), x->a->column, y->a->column, Claim::Held::kSame};
      if (clearly_faster(*x->a, *y->a)) {
        claim.held = Claim::Held::kHolds;
      } else if (clearly_faster(*y->a, *x->a)) {
        claim.held = Claim::Held::kReversed;
      }
      comparison.orderings.push_back(std::move(claim));
    }
  }
  const auto fastest = [&](const CellRecord* ComparedCell::*side) {
    return *std::min_element(shape.begin(), shape.end(), [&](const ComparedCell* x, const ComparedCell* y) {
      return *(x->*side)->median_ns < *(y->*side)->median_ns;
    });
  };
  ++comparison.winners;
  comparison.same_winner += fastest(&ComparedCell::a) == fastest(&ComparedCell::b) ? 1 : 0;
}

void add_cautions(const RunData& a, const RunData& b, Comparison& comparison) {
  const auto fact = [](const RunData& data, const char* key) {
    const auto found = data.environment.find(key);
    return found == data.environment.end() ? std::string("unknown") : found->second;
  };
  if (fact(a, "cpu.model") != fact(b, "cpu.model")) {
    comparison.cautions.push_back(
        fmt::format("different processors: {} and {}", fact(a, "cpu.model"), fact(b, "cpu.model")));
  }
  if (a.run.model != b.run.model) {
    comparison.cautions.push_back(fmt::format("different models: {} and {}", a.run.model, b.run.model));
  }
  for (const ComparedCell& cell : comparison.cells) {
    if (cell.b->threads != 0 && cell.a->threads != cell.b->threads) {
      comparison.cautions.push_back(
          fmt::format("different thread counts: {} and {}", cell.a->threads, cell.b->threads));
      return;
    }
  }
}

std::string ratio_table(const Comparison& comparison) {
  std::map<std::string, std::vector<double>> by_column;
  for (const ComparedCell& cell : comparison.cells) {
    by_column[cell.a->column].push_back(cell.ratio);
  }
  std::string out =
      "| column | cells | time here ÷ there: smallest | median | largest |\n| --- | ---: | ---: | ---: | "
      "---: |\n";
  for (const auto& [column, ratios] : by_column) {
    out += fmt::format("| {} | {} | {:.2f} | {:.2f} | {:.2f} |\n", column, ratios.size(),
                       *std::min_element(ratios.begin(), ratios.end()), median(ratios),
                       *std::max_element(ratios.begin(), ratios.end()));
  }
  return out;
}

// Per pair of columns: at how many shapes the ordering holds, is the same, or is the other way round.
std::string ordering_table(const Comparison& comparison) {
  std::map<std::pair<std::string, std::string>, std::array<std::size_t, 3>> counts;
  for (const Claim& claim : comparison.orderings) {
    ++counts[{claim.faster, claim.slower}][static_cast<std::size_t>(claim.held)];
  }
  std::string out =
      "| there faster | than | holds here | same here | reversed here |\n| --- | --- | ---: | ---: | ---: "
      "|\n";
  for (const auto& [pair, held] : counts) {
    out += fmt::format("| {} | {} | {} | {} | {} |\n", pair.first, pair.second, held[0], held[1], held[2]);
  }
  return out;
}

}  // namespace

Comparison compare_runs(const RunData& a, const RunData& b) {
  Comparison comparison;
  for (const CellRecord& cell : a.cells) {
    const CellRecord* other = partner(cell, b.cells);
    if (other == nullptr || !cell.median_ns || !other->median_ns) {
      ++comparison.only_a;
      continue;
    }
    comparison.cells.push_back({&cell, other, *cell.median_ns / *other->median_ns});
  }
  comparison.only_b = b.cells.size() - std::min(b.cells.size(), comparison.cells.size());
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const ComparedCell*>> shapes;
  for (const ComparedCell& cell : comparison.cells) {
    shapes[{cell.a->batch, cell.a->sequence}].push_back(&cell);
  }
  for (const auto& [shape, cells] : shapes) {
    if (cells.size() > 1) {
      judge_orderings(cells, comparison);
    }
  }
  add_cautions(a, b, comparison);
  return comparison;
}

std::string render_comparison(const Comparison& comparison, const std::string& name_a,
                              const std::string& name_b) {
  std::string out =
      fmt::format("{} (here) against {} (there): {} cells in both, {} only here, {} only there\n", name_a,
                  name_b, comparison.cells.size(), comparison.only_a, comparison.only_b);
  for (const std::string& caution : comparison.cautions) {
    out += fmt::format("Caution: {}\n", caution);
  }
  if (comparison.cells.empty()) {
    return out + "Nothing to compare: no cell has the same engine, mode, device, batch and length in both.\n";
  }
  out += "\n| shape | column | here | there | here ÷ there |\n| --- | --- | ---: | ---: | ---: |\n";
  for (const ComparedCell& cell : comparison.cells) {
    out += fmt::format("| {} | {} | {} | {} | {:.2f} |\n", shape_text(*cell.a), cell.a->column,
                       cell_text(*cell.a), cell_text(*cell.b), cell.ratio);
  }
  out += "\n" + ratio_table(comparison);
  if (!comparison.orderings.empty()) {
    std::array<std::size_t, 3> all{};
    for (const Claim& claim : comparison.orderings) {
      ++all[static_cast<std::size_t>(claim.held)];
    }
    out += fmt::format(
        "\nOf {} orderings there, {} hold here, {} are the same within the intervals, {} are reversed.\n"
        "The fastest column is the same at {} of {} shapes.\n\n",
        comparison.orderings.size(), all[0], all[1], all[2], comparison.same_winner, comparison.winners);
    out += ordering_table(comparison);
  }
  return out;
}

}  // namespace touchstone
