// SPDX-License-Identifier: Apache-2.0
#include "measure/series.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <set>

namespace touchstone {
namespace {

constexpr double kConfidence = 0.95;
// A cell that was looked at more than once stopped at the look whose interval was narrow, and such intervals
// hold the truth less often (91 % for a nominal 95 % at 3 % noise). At the first look nothing was chosen yet;
// later a nominal 97 % holds with 94 to 96 %, calibrated by simulation (benchmarks/statistics).
constexpr double kLaterConfidence = 0.97;
// Stopping once a ratio's interval is narrow prefers samples that happen to lie close together: a nominal 97
// % holds with 95 to 96 % under the stopping rule (benchmarks/statistics measures it).
constexpr double kRatioConfidence = 0.97;
constexpr std::size_t kFewestForMedian = 6;
constexpr std::size_t kFewestForMean = 3;

double round_median(const Turn& turn) {
  return median({turn.samples_ns.begin(), turn.samples_ns.end()});
}

bool counts(const Turn& turn) {
  return !turn.dropped && !turn.samples_ns.empty();
}

// P(X <= k) of a binomial with probability one half.
double binomial_half(std::size_t n, std::size_t k) {
  double term = std::pow(0.5, static_cast<double>(n));
  double sum = term;
  for (std::size_t i = 1; i <= k; ++i) {
    term *= static_cast<double>(n - i + 1) / static_cast<double>(i);
    sum += term;
  }
  return sum;
}

}  // namespace

double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

double quantile(std::vector<double> values, double probability) {
  std::sort(values.begin(), values.end());
  const double position = probability * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - static_cast<double>(below)) * (values[above] - values[below]);
}

std::optional<Interval> median_interval(std::vector<double> values, double confidence) {
  const std::size_t n = values.size();
  if (n < kFewestForMedian) {
    return std::nullopt;
  }
  std::sort(values.begin(), values.end());
  // Depth d: the interval from the d-th smallest to the d-th largest, which holds the median with this
  // probability.
  const auto coverage = [&](std::size_t depth) { return 1 - 2 * binomial_half(n, depth - 1); };
  std::size_t depth = 1;
  while (depth + 1 <= n / 2 && coverage(depth + 1) >= confidence) {
    ++depth;
  }
  const Interval outer{values[depth - 1], values[n - depth]};
  if (depth + 1 > n / 2) {
    return outer;
  }
  const double wide = coverage(depth);
  const double narrow = coverage(depth + 1);
  const double part = (wide - confidence) / (wide - narrow);
  const auto nn = static_cast<double>(n);
  const auto d = static_cast<double>(depth);
  const double weight = (nn - d) * part / (d + (nn - 2 * d) * part);
  return Interval{(1 - weight) * values[depth - 1] + weight * values[depth],
                  (1 - weight) * values[n - depth] + weight * values[n - depth - 1]};
}

std::optional<Interval> mean_interval(const std::vector<double>& values, double confidence) {
  const auto n = static_cast<double>(values.size());
  if (values.size() < kFewestForMean) {
    return std::nullopt;
  }
  double mean = 0;
  for (const double value : values) {
    mean += value / n;
  }
  double variance = 0;
  for (const double value : values) {
    variance += (value - mean) * (value - mean) / (n - 1);
  }
  const boost::math::students_t distribution(n - 1);
  const double half = boost::math::quantile(distribution, 0.5 + confidence / 2) * std::sqrt(variance / n);
  return Interval{mean - half, mean + half};
}

std::optional<Estimate> estimate(const Series& series, std::optional<int> launch) {
  std::vector<double> rounds;
  std::vector<double> samples;
  for (const Turn& turn : series) {
    if (counts(turn) && (!launch || turn.launch == *launch)) {
      rounds.push_back(round_median(turn));
      samples.insert(samples.end(), turn.samples_ns.begin(), turn.samples_ns.end());
    }
  }
  if (rounds.empty()) {
    return std::nullopt;
  }
  Estimate result;
  result.median_ns = median(rounds);
  result.interval =
      median_interval(rounds, rounds.size() > kFewestForMedian ? kLaterConfidence : kConfidence);
  if (result.interval) {
    result.half_width = (result.interval->high - result.interval->low) / 2 / result.median_ns;
  }
  result.rounds = rounds.size();
  result.samples = samples.size();
  result.minimum_ns = *std::min_element(samples.begin(), samples.end());
  result.p90_ns = quantile(samples, 0.90);
  result.p99_ns = quantile(std::move(samples), 0.99);
  return result;
}

std::optional<Interval> across_launches(const Series& series) {
  std::set<int> launches;
  for (const Turn& turn : series) {
    launches.insert(turn.launch);
  }
  std::vector<double> medians;
  for (const int launch : launches) {
    if (const auto one = estimate(series, launch)) {
      medians.push_back(std::log(one->median_ns));
    }
  }
  const auto interval = mean_interval(medians, kConfidence);
  if (!interval) {
    return std::nullopt;
  }
  return Interval{std::exp(interval->low), std::exp(interval->high)};
}

std::optional<Ratio> paired_ratio(const Series& a, const Series& b) {
  std::map<std::pair<int, int>, double> of_b;
  for (const Turn& turn : b) {
    if (counts(turn)) {
      of_b[{turn.launch, turn.round}] = round_median(turn);
    }
  }
  std::vector<double> logarithms;
  for (const Turn& turn : a) {
    const auto pair = counts(turn) ? of_b.find({turn.launch, turn.round}) : of_b.end();
    if (pair != of_b.end()) {
      logarithms.push_back(std::log(round_median(turn) / pair->second));
    }
  }
  if (logarithms.empty()) {
    return std::nullopt;
  }
  Ratio result;
  double mean = 0;
  for (const double value : logarithms) {
    mean += value / static_cast<double>(logarithms.size());
  }
  result.ratio = std::exp(mean);
  result.rounds = logarithms.size();
  if (const auto interval = mean_interval(logarithms, kRatioConfidence)) {
    result.interval = Interval{std::exp(interval->low), std::exp(interval->high)};
    result.call = result.interval->high < 1  ? Ratio::Call::kFaster
                  : result.interval->low > 1 ? Ratio::Call::kSlower
                                             : Ratio::Call::kSame;
  }
  return result;
}

}  // namespace touchstone
