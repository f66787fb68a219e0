// SPDX-License-Identifier: Apache-2.0
#include "measure/sampling.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "measure/machine.h"

using namespace touchstone;

namespace {

Series rounds_with_spread(double spread, int rounds) {
  std::mt19937_64 generator(3);
  std::normal_distribution<double> noise(0, spread);
  Series series;
  for (int round = 0; round < rounds; ++round) {
    Turn turn;
    turn.round = round;
    turn.samples_ns = {static_cast<std::int64_t>(1e6 * (1 + noise(generator)))};
    series.push_back(turn);
  }
  return series;
}

// Feeds `law(call)` in chunks as the bench does; returns how many calls it took to settle.
template <class Law>
std::size_t settle(Law law) {
  WarmupDetector detector(60'000'000'000, 1000);
  std::int64_t call = 0;
  while (!detector.settled()) {
    std::vector<std::int64_t> chunk;
    for (std::size_t i = 0; i < WarmupDetector::kWindow; ++i) {
      chunk.push_back(static_cast<std::int64_t>(law(static_cast<double>(call++))));
    }
    detector.add(chunk);
  }
  return detector.count();
}

}  // namespace

TEST_CASE("a_cell_is_not_done_before_six_rounds_or_while_its_interval_is_wide") {
  const PrecisionRule rule(0.02, 60);
  CHECK_FALSE(rule.done(rounds_with_spread(0.0001, 5)));
  CHECK(rule.done(rounds_with_spread(0.0001, 6)));
  CHECK_FALSE(rule.done(rounds_with_spread(0.3, 6)));
  CHECK(rule.done(rounds_with_spread(0.3, 60)));
  CHECK_FALSE(rule.met(rounds_with_spread(0.3, 60)));
}

TEST_CASE("warm_up_waits_for_a_decay_to_end") {
  std::mt19937_64 generator(5);
  std::normal_distribution<double> noise(0, 0.01);
  CHECK(settle([](double) { return 1e6; }) == WarmupDetector::kWindow);
  CHECK(settle([&](double call) { return 1e6 * (1 + 4 * std::exp(-call / 10)) * (1 + noise(generator)); }) >=
        24);
}

TEST_CASE("warm_up_waits_for_a_ramp_to_end_whichever_way_it_goes") {
  CHECK(settle([](double call) { return call < 24 ? 1e6 * (1 + call / 12) : 3e6; }) >= 24);
  CHECK(settle([](double call) { return call < 24 ? 1e6 * (4 - call / 8) : 1e6; }) >= 24);
}

TEST_CASE("rounds_before_a_late_step_of_a_jit_are_found_out_to_be_warm_up") {
  Series series;
  const auto add = [&](double level) {
    Turn turn;
    turn.round = static_cast<int>(series.size());
    turn.samples_ns = {static_cast<std::int64_t>(1e6 * level)};
    series.push_back(turn);
  };
  add(2.0);
  add(2.0);
  for (int i = 0; i < 5; ++i) {
    add(1 + 0.01 * i);
  }
  CHECK(late_warm_rounds(series) == 0);  // too few rounds after it to be sure
  add(1);
  CHECK(late_warm_rounds(series) == 2);
  add(2.1);
  CHECK(late_warm_rounds(series) == 0);  // they are no slower than what came later
  CHECK(late_warm_rounds(rounds_with_spread(0.02, 40)) == 0);
}

TEST_CASE("warm_up_is_capped_in_time_and_count") {
  WarmupDetector time(1000, 1000);
  time.add(std::vector<std::int64_t>{600, 500});
  CHECK(time.reason() == "time");
  WarmupDetector count(1'000'000'000, 3);
  count.add(std::vector<std::int64_t>{3, 2, 1});
  CHECK(count.reason() == "count");
}

TEST_CASE("mann_kendall_tells_a_trend_from_noise") {
  const std::vector<double> falling = {8, 7, 6, 5, 4, 3, 2, 1};
  const std::vector<double> mixed = {1, 3, 2, 4, 2, 3, 1, 2};
  CHECK(mann_kendall(falling) == doctest::Approx(-27 / std::sqrt(8.0 * 7 * 21 / 18)));
  CHECK(std::abs(mann_kendall(mixed)) < 1);
}

TEST_CASE("turns_fit_the_latency") {
  const TurnPlan tiny = plan_turn(500, 32 << 20);
  CHECK(tiny.inner == 40);
  CHECK(tiny.warm_count > 1);
  const TurnPlan middle = plan_turn(5e6, 32 << 20);
  CHECK(middle.inner == 1);
  CHECK(middle.min_count == 3);
  CHECK(middle.warm_count == 1);
  const TurnPlan slow = plan_turn(2e9, 32 << 20);
  CHECK(slow.min_count == 1);
  CHECK(slow.warm_count == 0);  // refilling the cache costs less than half a percent of one inference
  // A cache that dozens of cores share is not refilled whole by one worker.
  CHECK(plan_turn(1e9, 480 << 20).warm_count == 0);
  CHECK(plan_turn(17e6, 480 << 20).warm_count == 1);
}

TEST_CASE("only_a_real_disturbance_drops_a_turn") {
  CHECK(disturbance(0.10).empty());
  CHECK_FALSE(disturbance(0.20).empty());
  CHECK(slow_machine(1.2e6, 1e6).empty());
  CHECK_FALSE(slow_machine(1.3e6, 1e6).empty());
}

TEST_CASE("the_machine_can_be_read") {
  CHECK(read_cpu_times({0}).busy_ns > 0);
  MachineProbe probe({0});
  CHECK(!probe.usual());
  for (int i = 0; i < 12; ++i) {
    CHECK(probe.run() > 0);
  }
  CHECK(probe.at_best().value_or(0) > 0);
  CHECK(probe.at_best() <= probe.usual());
}
