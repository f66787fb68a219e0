// SPDX-License-Identifier: Apache-2.0
#include "models/weights.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "base/hash.h"

using namespace touchstone;

namespace {

std::vector<float> generated(const std::string& name, std::int64_t count, std::uint64_t seed = 1) {
  std::vector<float> values(static_cast<std::size_t>(count));
  generate_weights({name, {count}, 0, 0.02F}, seed, values);
  return values;
}

}  // namespace

TEST_CASE("weights_are_the_same_bytes_on_every_machine") {
  const auto values = generated("encoder.weight", 1 << 16);
  const auto bytes = std::as_bytes(std::span(values));
  CHECK(sha256({reinterpret_cast<const char*>(bytes.data()), bytes.size()}) ==
        "5bbaf62293fc7ba0c897e3320b1b6448bcaf5d0cba4c8485ee536f667f8ed1ae");
}

TEST_CASE("weights_made_on_many_threads_are_those_made_on_one") {
  // A large tensor is made on several threads, a small one on the caller's; element i depends on i alone.
  const auto many = generated("w", 3 << 20);
  const auto one = generated("w", 1 << 19);
  CHECK(std::equal(one.begin(), one.end(), many.begin()));
}

TEST_CASE("weights_differ_by_name_and_by_seed") {
  CHECK(generated("a", 64) != generated("b", 64));
  CHECK(generated("a", 64) != generated("a", 64, 2));
}

TEST_CASE("weights_have_the_moments_that_were_asked_for") {
  std::vector<float> values(1 << 20);
  generate_weights({"w", {1 << 20}, 1, 0.02F}, 1, values);
  double sum = 0;
  double squares = 0;
  float largest = 0;
  for (const float value : values) {
    sum += value - 1.0;
    squares += (value - 1.0) * (value - 1.0);
    largest = std::max(largest, std::abs(value - 1));
  }
  CHECK(std::abs(sum / (1 << 20)) < 5 * 0.02 / 1024);  // five standard errors
  CHECK(std::sqrt(squares / (1 << 20)) == doctest::Approx(0.02).epsilon(0.005));
  CHECK(largest < 0.02F * 4.5F);
}

TEST_CASE("weights_hold_no_denormal_numbers") {
  const auto values = generated("w", 1 << 20);
  CHECK(std::all_of(values.begin(), values.end(),
                    [](float value) { return std::fpclassify(value) == FP_NORMAL; }));
}

TEST_CASE("weights_without_deviation_are_their_mean") {
  std::vector<float> values(8);
  generate_weights({"w", {8}, 0.5F, 0}, 1, values);
  CHECK(values == std::vector<float>(8, 0.5F));
}
