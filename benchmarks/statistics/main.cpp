// SPDX-License-Identifier: Apache-2.0
// How often the intervals hold the truth, how often two equal engines are called different, and how often a
// true difference of 3 % is called; thousands of simulated cells, the stopping rule on, from noise so low
// that every cell ends at its first look to noise that takes dozens of rounds. Prints each figure beside its
// bar. Usage: benchmark-statistics [CELLS [PAIRS]]
#include <fmt/format.h>

#include <cstdlib>

#include "simulation.h"

using namespace touchstone;
using namespace touchstone::simulation;

namespace {

constexpr double kTarget = 0.02;
constexpr double kSpreads[] = {0.005, 0.01, 0.02, 0.03};
constexpr int kSamples[] = {3, 30};

void print_coverage(const PrecisionRule& rule, int cells) {
  fmt::print("coverage of the interval, {} cells a row; bar 93 to 97 %\n", cells);
  for (const Law law : kLaws) {
    fmt::print("{} (estimand: {})\n", name_of(law), estimand_of(law));
    for (const double between : kSpreads) {
      for (const int samples : kSamples) {
        const Coverage held = coverage(law, {between, 2 * between, samples}, rule, cells, 1);
        fmt::print("  {:3.1f} % between rounds, {:2} samples a turn: {:5.1f} %, {:4.1f} rounds{}\n",
                   100 * between, samples, 100 * held.share, held.rounds,
                   held.share < 0.93 || held.share > 0.97 ? "  OUTSIDE" : "");
      }
    }
  }
}

void print_calls(const PrecisionRule& rule, int pairs) {
  fmt::print(
      "calls, {} pairs a row; bars: false at most 5 % (a binomial test lets {:.1f} % pass), 3 % called "
      "in at least 90 % at 1 % between and 2 % within\n",
      pairs, 100 * binomial_limit(pairs));
  for (const double between : kSpreads) {
    for (const int samples : kSamples) {
      const Noise noise{between, 2 * between, samples};
      fmt::print(
          "  {:3.1f} % between rounds, {:2} samples a turn: equal called different {:4.1f} %, 3 % "
          "called {:5.1f} %\n",
          100 * between, samples, 100 * share_called(1, noise, rule, pairs, 2),
          100 * share_called(1.03, noise, rule, pairs, 3));
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int cells = argc > 1 ? std::atoi(argv[1]) : 4000;
  const int pairs = argc > 2 ? std::atoi(argv[2]) : 2000;
  if (cells < 1 || pairs < 1) {
    fmt::print(stderr, "benchmark-statistics: CELLS and PAIRS must be positive whole numbers\n");
    return 2;
  }
  const PrecisionRule rule(kTarget);
  fmt::print("target {:.0f} %; samples within a turn spread twice as wide as rounds\n", 100 * kTarget);
  print_coverage(rule, cells);
  print_calls(rule, pairs);
  return 0;
}
