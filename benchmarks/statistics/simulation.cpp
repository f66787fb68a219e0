// SPDX-License-Identifier: Apache-2.0
#include "simulation.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

namespace touchstone::simulation {
namespace {

using Generator = std::mt19937_64;

constexpr double kUnitNs = 1e7;
constexpr double kSlowShare = 0.2;   // bimodal: one round in five …
constexpr double kSlowBy = 5;        // … is slow by this many spreads
constexpr double kDriftPeriod = 40;  // rounds; most cells end within a part of it
constexpr int kTruthRounds =
    200'000;  // the estimand of a skewed law has no closed form once samples are noisy

double uniform(Generator& generator) {
  return std::uniform_real_distribution<double>()(generator);
}

/// One simulated column.
class Column {
 public:
  Column(Law law, const Noise& noise, double scale, Generator& generator)
      : law_(law),
        noise_(noise),
        scale_(scale),
        generator_(generator),
        phase_(2 * M_PI * uniform(generator)) {}

  Turn turn(int round) {
    const double level = level_of(round);
    Turn turn;
    turn.round = round;
    for (int i = 0; i < noise_.samples; ++i) {
      turn.samples_ns.push_back(
          static_cast<std::int64_t>(kUnitNs * scale_ * level * (1 + noise_.within * normal_(generator_))));
    }
    return turn;
  }

  /// Where the drift stood in each round so far.
  const std::vector<double>& drift() const { return drift_; }

 private:
  double level_of(int round) {
    const double spread = noise_.between * normal_(generator_);
    switch (law_) {
      case Law::kNormal:
        return 1 + spread;
      case Law::kLognormal:
        return std::exp(spread);
      case Law::kBimodal:
        return 1 + spread + (uniform(generator_) < kSlowShare ? kSlowBy * noise_.between : 0);
      case Law::kDrifting:
        drift_.push_back(1 + noise_.between * std::sin(phase_ + 2 * M_PI * round / kDriftPeriod));
        return drift_.back() + spread;
    }
    return 1;
  }

  Law law_;
  Noise noise_;
  double scale_;
  Generator& generator_;
  double phase_;
  std::normal_distribution<double> normal_;
  std::vector<double> drift_;
};

double round_median(const Turn& turn) {
  return median({turn.samples_ns.begin(), turn.samples_ns.end()});
}

double stationary_truth(Law law, const Noise& noise) {
  Generator generator(7);
  Column column(law, noise, 1, generator);
  std::vector<double> medians;
  for (int round = 0; round < kTruthRounds; ++round) {
    medians.push_back(round_median(column.turn(round)));
  }
  return median(std::move(medians));
}

// Calls `body(generator)` once a cell on all CPUs; the same cells for a seed whatever their number. The sum
// of what it returns.
template <class Body>
Coverage sum_of(int cells, std::uint64_t seed, Body body) {
  const unsigned threads = std::max(1U, std::thread::hardware_concurrency());
  std::vector<Coverage> parts(threads);
  {
    std::vector<std::jthread> workers;
    for (unsigned t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        for (int cell = static_cast<int>(t); cell < cells; cell += static_cast<int>(threads)) {
          Generator generator(seed * 1'000'003 + static_cast<std::uint64_t>(cell));
          const Coverage one = body(generator);
          parts[t].share += one.share;
          parts[t].rounds += one.rounds;
        }
      });
    }
  }
  Coverage total;
  for (const Coverage& part : parts) {
    total.share += part.share / cells;
    total.rounds += part.rounds / cells;
  }
  return total;
}

}  // namespace

const char* name_of(Law law) {
  switch (law) {
    case Law::kNormal:
      return "normal";
    case Law::kLognormal:
      return "lognormal";
    case Law::kBimodal:
      return "skewed bimodal";
    case Law::kDrifting:
      return "drifting";
  }
  return "";
}

const char* estimand_of(Law law) {
  return law == Law::kDrifting ? "median of the drift over the rounds run" : "median of the rounds' medians";
}

Coverage coverage(Law law, const Noise& noise, const PrecisionRule& rule, int cells, std::uint64_t seed) {
  const double stationary = law == Law::kDrifting ? 0 : stationary_truth(law, noise);
  return sum_of(cells, seed, [&](Generator& generator) {
    Column column(law, noise, 1, generator);
    Series series;
    for (int round = 0; !rule.done(series); ++round) {
      series.push_back(column.turn(round));
    }
    const double truth = law == Law::kDrifting ? kUnitNs * median(column.drift()) : stationary;
    const auto interval = estimate(series)->interval;
    const bool holds = interval && interval->low <= truth && truth <= interval->high;
    return Coverage{holds ? 1.0 : 0.0, static_cast<double>(series.size())};
  });
}

double share_called(double true_ratio, const Noise& noise, const PrecisionRule& rule, int pairs,
                    std::uint64_t seed) {
  return sum_of(pairs, seed,
                [&](Generator& generator) {
                  Column first(Law::kNormal, noise, 1, generator);
                  Column second(Law::kNormal, noise, true_ratio, generator);
                  Series a;
                  Series b;
                  for (int round = 0; !rule.done(a) || !rule.done(b) || !rule.ratio_done(b, a); ++round) {
                    a.push_back(first.turn(round));
                    b.push_back(second.turn(round));
                  }
                  const bool called = paired_ratio(b, a)->call != Ratio::Call::kSame;
                  return Coverage{called ? 1.0 : 0.0, static_cast<double>(a.size())};
                })
      .share;
}

double binomial_limit(int cells) {
  return 0.05 + 1.645 * std::sqrt(0.05 * 0.95 / cells);
}

}  // namespace touchstone::simulation
