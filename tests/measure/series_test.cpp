// SPDX-License-Identifier: Apache-2.0
#include "measure/series.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace touchstone;

namespace {

Turn turn_of(int round, std::vector<std::int64_t> samples) {
  Turn turn;
  turn.round = round;
  turn.samples_ns = std::move(samples);
  return turn;
}

Series constant_series(std::int64_t ns, int rounds) {
  Series series;
  for (int round = 0; round < rounds; ++round) {
    series.push_back(turn_of(round, {ns, ns, ns}));
  }
  return series;
}

}  // namespace

TEST_CASE("the_estimate_is_the_median_of_the_rounds_medians") {
  const Series series = {turn_of(0, {10, 11, 1000}), turn_of(1, {20, 21, 22}), turn_of(2, {30})};
  const auto result = estimate(series);
  REQUIRE(result);
  CHECK(result->median_ns == 21);
  CHECK(result->rounds == 3);
  CHECK(result->samples == 7);
  CHECK_FALSE(result->interval);
  CHECK(result->minimum_ns == 10);
}

TEST_CASE("dropped_turns_do_not_count") {
  Series series = constant_series(100, 6);
  series.push_back(turn_of(6, {900}));
  series.back().dropped = true;
  CHECK(estimate(series)->median_ns == 100);
  CHECK(estimate(series)->rounds == 6);
}

TEST_CASE("launches_are_estimated_apart_and_together") {
  Series series = constant_series(100, 6);
  for (int launch = 1; launch < 4; ++launch) {
    for (int round = 0; round < 6; ++round) {
      series.push_back(turn_of(round, {100 + 10 * launch}));
      series.back().launch = launch;
    }
  }
  CHECK(estimate(series, 2)->median_ns == 120);
  const auto across = across_launches(series);
  REQUIRE(across);
  CHECK(across->low < 115);
  CHECK(across->high > 115);
  CHECK_FALSE(across_launches(constant_series(100, 6)));
}

// Values from the tables of Hettmansperger and Sheather's method: for n = 10 the order statistics 2 and 9
// hold the median with 97.85 %, 3 and 8 with 89.06 %; 95 % lies between.
TEST_CASE("the_median_interval_lies_between_the_order_statistics") {
  const auto interval = median_interval({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.95);
  REQUIRE(interval);
  CHECK(interval->low > 2);
  CHECK(interval->low < 3);
  CHECK(interval->high == doctest::Approx(11 - interval->low));
  CHECK_FALSE(median_interval({1, 2, 3, 4, 5}, 0.95));
}

TEST_CASE("the_mean_interval_is_students") {
  const auto interval = mean_interval({1, 2, 3, 4, 5}, 0.95);
  REQUIRE(interval);
  CHECK(interval->high == doctest::Approx(3 + 2.776445 * std::sqrt(2.5 / 5)));
  CHECK_FALSE(mean_interval({1, 2}, 0.95));
}

TEST_CASE("ratios_pair_rounds_and_call_only_what_the_interval_shows") {
  std::mt19937_64 generator(1);
  std::normal_distribution<double> noise(0, 0.01);
  Series a;
  Series b;
  for (int round = 0; round < 12; ++round) {
    const double machine = 1 + 0.3 * round;  // drift that both share
    a.push_back(turn_of(round, {static_cast<std::int64_t>(1e6 * machine * (1 + noise(generator)))}));
    b.push_back(turn_of(round, {static_cast<std::int64_t>(1.1e6 * machine * (1 + noise(generator)))}));
  }
  const auto ratio = paired_ratio(a, b);
  REQUIRE(ratio);
  CHECK(ratio->ratio == doctest::Approx(1 / 1.1).epsilon(0.02));
  CHECK(ratio->call == Ratio::Call::kFaster);
  CHECK(paired_ratio(b, a)->call == Ratio::Call::kSlower);
  CHECK(paired_ratio(a, a)->call == Ratio::Call::kSame);
  b.erase(b.begin(), b.begin() + 12);
  CHECK_FALSE(paired_ratio(a, b));
}

TEST_CASE("quantiles_interpolate") {
  CHECK(quantile({4, 1, 3, 2}, 0.5) == 2.5);
  CHECK(quantile({1, 2, 3, 4, 5}, 0.9) == doctest::Approx(4.6));
  CHECK(median({7}) == 7);
}
