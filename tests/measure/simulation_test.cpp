// SPDX-License-Identifier: Apache-2.0
// The statistics on simulated cells with a fixed seed: fewer cells than benchmarks/statistics runs, so the
// bars leave room for three standard errors.
#include "../../benchmarks/statistics/simulation.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace touchstone;
using namespace touchstone::simulation;

namespace {

constexpr int kCells = 1000;
const PrecisionRule kRule(0.02);

double standard_error(double share) {
  return std::sqrt(share * (1 - share) / kCells);
}

}  // namespace

TEST_CASE("intervals_hold_their_estimand_whether_cells_end_at_once_or_late") {
  for (const Law law : kLaws) {
    for (const double between : {0.005, 0.02}) {
      CAPTURE(name_of(law));
      CAPTURE(between);
      const Coverage held = coverage(law, {between, 2 * between, 5}, kRule, kCells, 11);
      CHECK(held.share > 0.93 - 3 * standard_error(0.93));
      CHECK(held.share < 0.97 + 3 * standard_error(0.97));
      CHECK(held.rounds >= static_cast<double>(kFewestRounds));
    }
  }
}

TEST_CASE("equal_columns_are_seldom_called_different_and_3_percent_is_called") {
  CHECK(share_called(1, Noise{}, kRule, kCells, 12) <= binomial_limit(kCells));
  CHECK(share_called(1.03, Noise{}, kRule, kCells, 13) >= 0.90);
}
