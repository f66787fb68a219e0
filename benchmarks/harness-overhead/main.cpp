// SPDX-License-Identifier: Apache-2.0
// What the timing loop adds to a sample beyond its two clock reads: turns of an engine that does nothing
// against the same number of bare pairs of clock reads, interleaved. And what the watcher of memory takes of
// a CPU while a worker is measured.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "bench/memory_watch.h"
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

// One look of the watcher at one worker.
double look_ns() {
  constexpr int kLooks = 2000;
  const std::int64_t begin = now_ns();
  std::uint64_t total = 0;
  for (int i = 0; i < kLooks; ++i) {
    total += resident_bytes(getpid());
  }
  return total == 0 ? 0 : static_cast<double>(now_ns() - begin) / kLooks;
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
  const double look = look_ns();
  fmt::print(
      "the watcher looks at each worker ten times a second for {:.1f} µs: {:.4f} % of a CPU for six "
      "workers\n",
      look / 1e3, 100 * 6 * 10 * look / 1e9);
  return 0;
}
