// SPDX-License-Identifier: Apache-2.0
// How often the intervals hold the truth, how often two equal engines are called different, and how often a
// true difference of 3 % is called; thousands of simulated cells, the stopping rule on. Prints each figure
// beside its bar.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>
#include <thread>

#include "measure/sampling.h"

namespace touchstone {
namespace {

constexpr int kSamplesPerTurn = 5;
constexpr double kBetween = 0.01;  // relative spread of rounds
constexpr double kWithin = 0.02;   // of samples within one

/// One distribution of round levels and its estimand: what the interval is meant to hold.
struct Law {
  std::string name, estimand;
  std::function<double(std::mt19937_64&, int round)> level;
  double truth;
};

std::vector<Law> laws() {
  std::normal_distribution<double> normal;
  return {
      {"normal", "the median of rounds",
       [normal](std::mt19937_64& g, int) mutable { return 1 + kBetween * normal(g); }, 1},
      {"lognormal", "the median of rounds",
       [normal](std::mt19937_64& g, int) mutable { return std::exp(2 * kBetween * normal(g)); }, 1},
      // One round in five is slow by 5 %: the median lies within the quick mode, at its 62.5th percentile.
      {"skewed bimodal", "the median of the mixture",
       [normal](std::mt19937_64& g, int) mutable {
         const bool slow = std::uniform_real_distribution<double>()(g) < 0.2;
         return (slow ? 1.05 : 1.0) + kBetween * normal(g);
       },
       1 + kBetween * 0.31864},
      // The level wanders by a slow sine of ±1 % whose phase is random: the median over phases is the truth.
      {"drifting", "the median over the drift's cycle",
       [normal](std::mt19937_64& g, int round) mutable {
         static thread_local double phase = 0;
         if (round == 0) {
           phase = std::uniform_real_distribution<double>(0, 2 * M_PI)(g);
         }
         return 1 + 0.01 * std::sin(phase + 2.4 * round) + kBetween * normal(g);
       },
       1},
  };
}

Turn simulate_turn(std::mt19937_64& generator, int round, double level) {
  std::normal_distribution<double> normal;
  Turn turn;
  turn.round = round;
  for (int i = 0; i < kSamplesPerTurn; ++i) {
    turn.samples_ns.push_back(static_cast<std::int64_t>(1e7 * level * (1 + kWithin * normal(generator))));
  }
  return turn;
}

template <class Count>
double share_of(int cells, std::uint64_t seed, Count count) {
  const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<int> hits(threads, 0);
  {
    std::vector<std::jthread> workers;
    for (unsigned t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        for (int cell = static_cast<int>(t); cell < cells; cell += static_cast<int>(threads)) {
          std::mt19937_64 generator(seed * 1'000'003 + static_cast<std::uint64_t>(cell));
          hits[t] += count(generator) ? 1 : 0;
        }
      });
    }
  }
  int total = 0;
  for (const int hit : hits) {
    total += hit;
  }
  return static_cast<double>(total) / cells;
}

bool interval_holds(const Law& law, const PrecisionRule& rule, std::mt19937_64& generator) {
  Series series;
  auto level = law.level;
  for (int round = 0; !rule.done(series); ++round) {
    series.push_back(simulate_turn(generator, round, level(generator, round)));
  }
  const auto result = estimate(series);
  return result->interval->low <= law.truth * 1e7 && law.truth * 1e7 <= result->interval->high;
}

// Two columns in shuffled rounds until both are done; whether they are called different.
bool called_different(double true_ratio, const PrecisionRule& rule, std::mt19937_64& generator) {
  std::normal_distribution<double> normal;
  Series a;
  Series b;
  for (int round = 0; !rule.done(a) || !rule.done(b) || !rule.ratio_done(b, a); ++round) {
    a.push_back(simulate_turn(generator, round, 1 + kBetween * normal(generator)));
    b.push_back(simulate_turn(generator, round, true_ratio * (1 + kBetween * normal(generator))));
  }
  return paired_ratio(b, a)->call != Ratio::Call::kSame;
}

// The largest share of false calls that a binomial test at 5 % lets pass as 5 %.
double binomial_limit(int cells) {
  return 0.05 + 1.645 * std::sqrt(0.05 * 0.95 / cells);
}

}  // namespace
}  // namespace touchstone

int main(int argc, char** argv) {
  using namespace touchstone;
  const int cells = argc > 1 ? std::atoi(argv[1]) : 20000;
  const PrecisionRule rule(0.02);
  fmt::print("{} cells each, {} samples a turn, {:.0f} % between rounds, {:.0f} % within, target 2 %\n",
             cells, kSamplesPerTurn, 100 * kBetween, 100 * kWithin);
  for (const Law& law : laws()) {
    const double held = share_of(cells, 1, [&](std::mt19937_64& g) { return interval_holds(law, rule, g); });
    fmt::print("coverage, {:16} {:5.1f} %  (bar 93 to 97; estimand: {})\n", law.name, 100 * held,
               law.estimand);
  }
  const int pairs = std::min(cells, 2000);
  const double wrong = share_of(pairs, 2, [&](std::mt19937_64& g) { return called_different(1.0, rule, g); });
  const double right =
      share_of(pairs, 3, [&](std::mt19937_64& g) { return called_different(1.03, rule, g); });
  fmt::print("A/A false calls       {:5.1f} %  (bar 5, binomial limit over {} cells {:.1f})\n", 100 * wrong,
             pairs, 100 * binomial_limit(pairs));
  fmt::print("3 % difference called {:5.1f} %  (bar at least 90)\n", 100 * right);
  return 0;
}
