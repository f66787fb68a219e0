// SPDX-License-Identifier: Apache-2.0
// What the timing loop adds to a sample beyond its two clock reads: turns of an engine that does nothing
// against the same number of bare pairs of clock reads, interleaved.
#include <fmt/format.h>

#include <algorithm>

#include "measure/series.h"
#include "worker/timing.h"

namespace touchstone {
namespace {

class NothingEngine final : public Engine {
 public:
  Result<EngineInfo> info() override { return EngineInfo{}; }
  Result<Options> load(const LoadRequest&) override { return Options{}; }
  Result<void> prepare(std::span<const TensorSpec>) override { return {}; }
  Result<void> set_inputs(std::span<const TensorView>) override { return {}; }
  Result<void> infer() override { return {}; }
  Result<std::vector<TensorView>> outputs() override { return std::vector<TensorView>{}; }
};

constexpr std::int64_t kSamples = 100'000;

double bare_pair_ns() {
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    const std::int64_t begin = now_ns();
    total += now_ns() - begin;
  }
  return static_cast<double>(total) / static_cast<double>(kSamples);
}

}  // namespace
}  // namespace touchstone

int main() {
  using namespace touchstone;
  NothingEngine engine;
  MeasureRequest request;
  request.min_count = kSamples;
  request.max_count = kSamples;
  std::vector<double> bare;
  std::vector<double> inside;
  for (int round = 0; round < 20; ++round) {
    bare.push_back(bare_pair_ns());
    const auto turn = run_turn(engine, request);
    double total = 0;
    for (const std::int64_t sample : turn->samples_ns) {
      total += static_cast<double>(sample);
    }
    inside.push_back(total / static_cast<double>(kSamples));
  }
  fmt::print(
      "two clock reads {:.1f} ns, a sample of an engine that does nothing {:.1f} ns: the harness adds {:.1f} "
      "ns (bar 100)\n",
      median(bare), median(inside), median(inside) - median(bare));
  return 0;
}
