// SPDX-License-Identifier: Apache-2.0
// What was measured of one cell, and what is concluded from it: values only; nothing here reads a clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace touchstone {

/// One engine's turn in one round.
struct Turn {
  int launch = 0;                        // which process of this column
  int round = 0;                         // within the launch; turns of one round share the number
  std::vector<std::int64_t> samples_ns;  // each the mean of `inner` inferences
  std::vector<std::int64_t> warm_ns;     // untimed inferences before the samples
  std::int64_t inner = 1;
  std::int64_t cpu_ns = 0, wall_ns = 0;
  std::int64_t voluntary = 0, involuntary = 0;  // context switches
  double foreign_share = 0;   // CPU time of others on the worker's CPUs ÷ (wall time × CPUs)
  std::int64_t start_ns = 0;  // CLOCK_MONOTONIC
  bool dropped = false;       // disturbed: kept in the store, not in the statistics
  std::string drop_reason;
};

using Series = std::vector<Turn>;

/// Median; the mean of the middle two of an even count. `values` must not be empty.
double median(std::vector<double> values);
/// Linear interpolation between order statistics (Hyndman and Fan's type 7).
double quantile(std::vector<double> values, double probability);

struct Interval {
  double low = 0, high = 0;
};

/// The interval of a population median from independent values: interpolated order statistics (Hettmansperger
/// and Sheather, "Confidence intervals based on interpolated order statistics", 1986), free of assumptions on
/// the distribution. Fewer than six values cannot carry 95 %: nothing comes back.
std::optional<Interval> median_interval(std::vector<double> values, double confidence);
/// Student's interval of a mean. Nothing for fewer than three values.
std::optional<Interval> mean_interval(const std::vector<double>& values, double confidence);

/// What one cell comes to.
struct Estimate {
  double median_ns = 0;              // the median over rounds of the rounds' medians
  std::optional<Interval> interval;  // of that, 95 % with the stopping rule on; nothing below six rounds
  double half_width = 0;             // half the interval ÷ median; 0 without an interval
  std::size_t rounds = 0, samples = 0;
  double p90_ns = 0, p99_ns = 0, minimum_ns = 0;  // over all samples kept
};

/// From the turns that were not dropped, of one launch or, with `launch` absent, of all. Nothing without a
/// sample.
std::optional<Estimate> estimate(const Series& series, std::optional<int> launch = {});

/// The interval of the median of launches' medians; nothing for fewer than three launches.
std::optional<Interval> across_launches(const Series& series);

/// `a` against `b`, paired round by round.
struct Ratio {
  enum class Call { kFaster, kSlower, kSame };
  double ratio = 1;                  // time of a ÷ time of b (geometric mean over rounds)
  std::optional<Interval> interval;  // 95 %, Student's on the logarithms of the rounds' ratios
  Call call = Call::kSame;           // faster or slower only where the interval excludes 1
  std::size_t rounds = 0;
};

/// Nothing where no round has both.
std::optional<Ratio> paired_ratio(const Series& a, const Series& b);

}  // namespace touchstone
