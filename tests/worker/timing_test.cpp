// SPDX-License-Identifier: Apache-2.0
#include "worker/timing.h"

#include <doctest/doctest.h>

using namespace touchstone;

namespace {

class CountingEngine final : public Engine {
 public:
  Result<EngineInfo> info() override { return EngineInfo{}; }
  Result<Options> load(const LoadRequest&) override { return Options{}; }
  Result<void> prepare(std::span<const TensorSpec>) override { return {}; }
  Result<void> set_inputs(std::span<const TensorView>) override { return {}; }
  Result<void> infer() override {
    ++inferences;
    if (inferences == fail_at) {
      return fail(Reason::kInternal, "as ordered");
    }
    return {};
  }
  Result<void> synchronize() override {
    ++synchronizations;
    return {};
  }
  Result<std::vector<TensorView>> outputs() override { return std::vector<TensorView>{}; }

  int inferences = 0, synchronizations = 0, fail_at = -1;
};

}  // namespace

TEST_CASE("a_turn_takes_what_was_asked_for_and_reports_warm_inferences_apart") {
  CountingEngine engine;
  MeasureRequest request;
  request.warm_max_count = 4;
  request.warm_max_ns = 1'000'000'000;
  request.min_count = 10;
  request.max_count = 10;
  request.inner = 3;
  const auto reply = run_turn(engine, request);
  REQUIRE(reply);
  CHECK(reply->warm_ns.size() == 4);
  CHECK(reply->samples_ns.size() == 10);
  CHECK(engine.inferences == 4 + 30);
  CHECK(engine.synchronizations == engine.inferences);
  CHECK(reply->wall_ns == reply->end_ns - reply->start_ns);
}

TEST_CASE("a_turn_goes_on_until_its_shortest_time_and_stops_at_its_count") {
  CountingEngine engine;
  MeasureRequest request;
  request.min_count = 1;
  request.max_count = 1'000'000;
  request.min_ns = 2'000'000;
  const auto timed = run_turn(engine, request);
  REQUIRE(timed);
  CHECK(timed->wall_ns >= 2'000'000);
  request.max_count = 5;
  CHECK(run_turn(engine, request)->samples_ns.size() == 5);
}

TEST_CASE("an_inference_that_fails_ends_the_turn_with_its_error") {
  CountingEngine engine;
  engine.fail_at = 3;
  MeasureRequest request;
  request.min_count = 10;
  request.max_count = 10;
  const auto reply = run_turn(engine, request);
  REQUIRE_FALSE(reply);
  CHECK(reply.error().message == "as ordered");
}
