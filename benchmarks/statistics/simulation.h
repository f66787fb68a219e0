// SPDX-License-Identifier: Apache-2.0
// Simulated cells under the real stopping rule: how often intervals hold the truth and how often columns are
// called different. Values only, no clock; the benchmark and tests/measure share it.
#pragma once

#include <cstdint>

#include "measure/sampling.h"

namespace touchstone::simulation {

/// How the levels of rounds are distributed.
enum class Law { kNormal, kLognormal, kBimodal, kDrifting };
inline constexpr Law kLaws[] = {Law::kNormal, Law::kLognormal, Law::kBimodal, Law::kDrifting};
const char* name_of(Law law);
/// What the interval is meant to hold.
const char* estimand_of(Law law);

/// Relative standard deviations, and samples a turn.
struct Noise {
  double between = 0.01;  // of rounds
  double within = 0.02;   // of the samples of one round
  int samples = 5;
};

struct Coverage {
  double share = 0;   // of cells whose final interval holds the estimand
  double rounds = 0;  // mean rounds a cell took
};
/// Runs `cells` cells until `rule` ends each.
Coverage coverage(Law law, const Noise& noise, const PrecisionRule& rule, int cells, std::uint64_t seed);

/// Share of pairs called faster or slower; the second column takes `true_ratio` times as long. Both race
/// until both medians and their ratio are done, as in the bench.
double share_called(double true_ratio, const Noise& noise, const PrecisionRule& rule, int pairs,
                    std::uint64_t seed);

/// The largest share of false calls that a one-sided binomial test at 5 % (normal approximation) lets pass
/// as 5 %.
double binomial_limit(int cells);

}  // namespace touchstone::simulation
