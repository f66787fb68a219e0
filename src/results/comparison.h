// SPDX-License-Identifier: Apache-2.0
// Two sets of results cell by cell, and which orderings of the one hold in the other.
#pragma once

#include <string>
#include <vector>

#include "results/views/views.h"

namespace touchstone {

/// A cell that both have.
struct ComparedCell {
  const CellRecord* a = nullptr;
  const CellRecord* b = nullptr;
  double ratio = 1;  // time of a ÷ time of b
};

/// One statement of B ("openvino is faster than onnxruntime at 1×8") judged in A. Within A two columns whose
/// intervals overlap are the same.
struct Claim {
  std::string shape, faster, slower;
  enum class Held { kHolds, kSame, kReversed } held = Held::kSame;
};

struct Comparison {
  std::vector<ComparedCell> cells;
  std::vector<Claim> orderings;              // every pair of columns at every shape
  std::size_t winners = 0, same_winner = 0;  // shapes, and those where both have the same fastest column
  std::size_t only_a = 0, only_b = 0;        // cells that the other does not have
  std::vector<std::string> cautions;         // what makes the two unlike: machine, model, threads, precision
};

/// Cells match by engine, mode, device, precision, batch and length; a shape mode matches its like, or where
/// one side does not say.
Comparison compare_runs(const RunData& a, const RunData& b);
std::string render_comparison(const Comparison& comparison, const std::string& name_a,
                              const std::string& name_b);

}  // namespace touchstone
