// SPDX-License-Identifier: Apache-2.0
// The statistics on real engines: bert-tiny races itself, both "columns" being turns of one process in
// shuffled rounds, under the bench's own rules for stopping, for dropping disturbed turns and for calling.
// How often the two are called different (they are not), and how often a difference of 3 % is called that is
// put into the second one's times; quiet, and with a neighbour that computes in bursts on one of the CPUs.
//   benchmark-real-engines [PAIRS]
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <random>
#include <thread>

#include "../must.h"
#include "bench/column_session.h"
#include "bench/cpu_set.h"
#include "bench/helper_process.h"
#include "measure/machine.h"
#include "measure/sampling.h"

namespace touchstone {
namespace {

constexpr double kTarget = 0.02;
constexpr double kDifference = 1.03;
constexpr int kMostDrops = 6;
constexpr std::size_t kMostRounds = 60;

/// Computes on one CPU in bursts of 20 to 300 ms, with pauses as long on average.
class Neighbour {
 public:
  Neighbour(int cpu, bool active)
      : thread_([cpu, active, this] {
          cpu_set_t set;
          CPU_ZERO(&set);
          CPU_SET(static_cast<std::size_t>(cpu), &set);
          pthread_setaffinity_np(pthread_self(), sizeof set, &set);
          std::mt19937 generator(5);
          std::uniform_int_distribution<int> length(20, 300);
          while (active && !ended_) {
            const auto burst =
                std::chrono::steady_clock::now() + std::chrono::milliseconds(length(generator));
            volatile double sink = 1;
            while (std::chrono::steady_clock::now() < burst) {
              for (int i = 0; i < 1000; ++i) {
                sink = sink * 1.0000001;
              }
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(length(generator)));
          }
        }) {}
  ~Neighbour() { ended_ = true; }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

 private:
  std::atomic<bool> ended_ = false;
  std::jthread thread_;
};

struct Racer {
  Series series;
  int dropped = 0;
};

class Race {
 public:
  Race(ColumnSession& session, MachineProbe& probe, double latency_ns, std::uint64_t cache_bytes)
      : session_(session), probe_(probe), latency_ns_(latency_ns), cache_bytes_(cache_bytes) {}

  /// Both until both medians and their ratio are known.
  std::pair<Racer, Racer> run(std::mt19937& generator) {
    const PrecisionRule rule(kTarget, kMostRounds);
    std::pair<Racer, Racer> racers;
    auto& [a, b] = racers;
    for (int round = 0; !rule.done(a.series) || !rule.done(b.series) || !rule.ratio_done(b.series, a.series);
         ++round) {
      const bool swapped = (generator() & 1U) != 0;
      turn(swapped ? b : a, round);
      turn(swapped ? a : b, round);
    }
    return racers;
  }

 private:
  void turn(Racer& racer, int round) {
    const TurnPlan plan = plan_turn(latency_ns_, cache_bytes_);
    const MeasureRequest request = turn_request(plan);
    while (true) {
      const auto before = static_cast<double>(probe_.run());
      Turn turn = must(session_.measure(request));
      must(session_.rest());
      const auto after = static_cast<double>(probe_.run());
      const bool slow = !slow_machine((before + after) / 2, probe_.usual().value_or(before + after)).empty();
      const bool disturbed = turn.dropped || slow;
      racer.dropped += disturbed ? 1 : 0;
      turn.dropped = disturbed && racer.dropped <= kMostDrops;
      turn.round = round;
      racer.series.push_back(turn);
      if (!turn.dropped) {
        return;
      }
    }
  }

  ColumnSession& session_;
  MachineProbe& probe_;
  double latency_ns_;
  std::uint64_t cache_bytes_;
};

Series slower_by(Series series, double factor) {
  for (Turn& turn : series) {
    for (std::int64_t& sample : turn.samples_ns) {
      sample = static_cast<std::int64_t>(static_cast<double>(sample) * factor);
    }
  }
  return series;
}

void report(const std::string& engine, bool busy, int pairs, Race& race) {
  std::mt19937 generator(7);
  int wrong = 0;
  int called = 0;
  int met = 0;
  double rounds = 0;
  double dropped = 0;
  const PrecisionRule rule(kTarget, kMostRounds);
  for (int pair = 0; pair < pairs; ++pair) {
    const auto [a, b] = race.run(generator);
    wrong += paired_ratio(b.series, a.series)->call != Ratio::Call::kSame ? 1 : 0;
    called += paired_ratio(slower_by(b.series, kDifference), a.series)->call == Ratio::Call::kSlower ? 1 : 0;
    met += rule.met(a.series) ? 1 : 0;
    rounds += static_cast<double>(a.series.size()) / pairs;
    dropped += static_cast<double>(a.dropped) / pairs;
  }
  // A one-sided binomial test at 5 % lets this share of false calls pass as 5 %.
  const double limit = 0.05 + 1.645 * std::sqrt(0.05 * 0.95 / pairs);
  fmt::print(
      "{:12} {:9} called different {:4.1f} % (limit {:.1f}), 3 % called {:5.1f} %, within target {:3.0f} %, "
      "{:.1f} "
      "turns a side, {:.1f} disturbed\n",
      engine, busy ? "neighbour" : "quiet", 100.0 * wrong / pairs, 100 * limit, 100.0 * called / pairs,
      100.0 * met / pairs, rounds, dropped);
  std::fflush(stdout);
}

void race_engine(const std::string& name, const std::string& mode, int pairs,
                 const Installation& installation, const Bundle& bundle) {
  static MemoryWatch watch;
  const auto cpus = must(choose_cpu_set(0));
  const auto catalogue = must(read_catalogue(installation.manifests));
  ColumnSession::Setting setting;
  setting.label = name;
  setting.column.engine = {name, "", mode};
  setting.engine = must(resolve_engine(catalogue, {installation.home, installation.bin}, name, "", mode,
                                       "cpu", static_cast<int>(cpus.size())));
  const FormFiles& files = bundle.forms.at(setting.engine.manifest.form);
  setting.model = setting.engine.manifest.reads == "onnx" ? files.onnx : files.graph;
  setting.threads = static_cast<int>(cpus.size());
  setting.cpus = cpus;
  setting.timeout = std::chrono::minutes(2);
  ColumnSession session(std::move(setting), watch);
  const TensorSet inputs = must(InputSource(bundle, 1).make({{"batch", 1}, {"seq", 64}}, {}));
  must(session.prepare(inputs));
  must(session.set_inputs(inputs));
  MeasureRequest warm;
  warm.min_count = warm.max_count = 200;
  const Turn turn = must(session.measure(warm));
  must(session.rest());
  const double latency = median({turn.samples_ns.end() - 50, turn.samples_ns.end()});
  for (const bool busy : {false, true}) {
    MachineProbe probe(cpus);
    for (std::size_t i = 0; i < 2 * MachineProbe::kFewestRuns; ++i) {
      probe.run();
    }
    const Neighbour neighbour(cpus.back(), busy);
    Race race(session, probe, latency, last_level_cache_bytes(cpus.front()));
    report(name, busy, pairs, race);
  }
}

}  // namespace
}  // namespace touchstone

int main(int argc, char** argv) {
  using namespace touchstone;
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 60;
  if (pairs < 1) {
    fmt::print(stderr, "benchmark-real-engines: PAIRS must be a positive whole number\n");
    return 2;
  }
  const Installation installation = find_installation();
  const auto answer =
      must(call_model_helper(installation, {"prepare", "bert-tiny", "--home", installation.home}));
  const Bundle bundle = must(bundle_from_json(answer, answer.value("folder", "")));
  fmt::print("bert-tiny 1×64 against itself, {} pairs a row, target {:.0f} %\n", pairs, 100 * kTarget);
  for (const auto& [engine, mode] :
       {std::pair{"onnxruntime", ""}, std::pair{"openvino", ""}, std::pair{"pytorch", "eager"}}) {
    race_engine(engine, mode, pairs, installation, bundle);
  }
  return 0;
}
