// SPDX-License-Identifier: Apache-2.0
#include "bench/time_budget.h"

#include <doctest/doctest.h>

using namespace touchstone;
using Seconds = TimeBudget::Seconds;

TEST_CASE("without_a_budget_there_is_no_limit") {
  TimeBudget budget({1, 10}, std::nullopt);
  CHECK_FALSE(budget.allowance(0, Seconds(1000)));
}

TEST_CASE("time_is_kept_for_the_costly_shapes_at_the_end") {
  TimeBudget budget({8, 64, 512}, Seconds(60));
  budget.observe_pass(0, Seconds(0.1));
  budget.observe_pass(1, Seconds(0.8));
  // A pass over 512 is expected to take 6.4 s: proof and a round of it have to stay free.
  CHECK(budget.expected_pass(2).count() == doctest::Approx(6.4));
  CHECK(budget.allowance(1, Seconds(10))->count() <= 60 - 10 - 2 * 6.4);
  CHECK(budget.allowance(2, Seconds(20))->count() == doctest::Approx(40));
}

TEST_CASE("six_rounds_of_every_group_come_before_more_rounds_of_one") {
  TimeBudget budget({8, 16, 32}, Seconds(60));
  budget.observe_pass(0, Seconds(1));
  // All three cost about 8.2 × (1 + 1.4 + 2) s with the proofs: the first may have its six rounds and what is
  // spare.
  CHECK(budget.allowance(0, Seconds(0))->count() < 60 - 8 * (1.4 + 2));
  CHECK(budget.allowance(0, Seconds(0))->count() > 8);
  // Too little for all: the first gets its six rounds, the last what remains.
  CHECK(budget.allowance(0, Seconds(30))->count() == doctest::Approx(8.2 + 3));
}

TEST_CASE("a_noisy_group_does_not_eat_the_whole_budget") {
  TimeBudget budget({8, 16}, Seconds(3600));
  budget.observe_pass(0, Seconds(0.1));
  CHECK(budget.allowance(0, Seconds(0))->count() < 60);
}

TEST_CASE("a_guess_at_the_costly_shapes_takes_nothing_from_the_cheap_ones") {
  TimeBudget budget({8, 16, 8192}, Seconds(100));
  budget.observe_pass(0, Seconds(1));
  budget.observe_pass(1, Seconds(2));
  // In proportion the last would take 1024 s a pass; the second still gets its six rounds.
  CHECK(budget.allowance(1, Seconds(10))->count() == doctest::Approx(8.2 * 2 + 3));
  CHECK(budget.allowance(1, Seconds(95))->count() == doctest::Approx(5));
}

TEST_CASE("a_spent_budget_allows_nothing") {
  TimeBudget budget({8}, Seconds(10));
  budget.observe_pass(0, Seconds(1));
  CHECK(budget.allowance(0, Seconds(11))->count() == 0);
}
