// SPDX-License-Identifier: Apache-2.0
// The median that a worker measures ÷ the median of a bare loop on the same library, model and shape, in
// interleaved turns with the idle one stopped, over several launches of both (launches of one program differ
// by more than the harness adds).
//   benchmark-fidelity [ENGINE...]              bare C++ loops on ONNX Runtime, OpenVINO and PyTorch
//   benchmark-fidelity --python PYTHON SCRIPT   PyTorch eager against a Python script that does the same
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "../must.h"
#include "bench/cpu_set.h"
#include "bench/helper_process.h"
#include "bench/input_source.h"
#include "bench/worker_client.h"
#include "engines/catalogue.h"
#include "measure/series.h"

namespace touchstone {
namespace {

// Many launches, and turns as short as can be: on a shared machine the noise of a long turn does not average
// out.
// A launch is two: with the worker started first, and with the bare loop started first, because whichever
// starts first was 3 to 5 % slower here.
constexpr int kLaunches = 5;
constexpr int kRounds = 16;
constexpr double kTurnNs = 60e6;

struct Case {
  std::string engine, mode, shape_mode;
  std::vector<std::string> bare;   // command without batch, seq and threads
  bool engine_environment = true;  // the bare loop finds its library where the worker finds it
};

/// A bare loop, asked over pipes.
class BareLoop {
 public:
  BareLoop(std::vector<std::string> command, const std::map<std::string, std::string>& environment,
           const std::vector<int>& cpus) {
    int to[2];
    int from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) {
      std::exit(1);
    }
    // Process gives its child no standard input: a shell connects the pipe.
    std::string line = "exec <&3;exec";
    for (const std::string& word : command) {
      line += " '" + word + "'";
    }
    ProcessRequest request;
    request.command = {"/bin/sh", "-c", line};
    request.environment = environment;
    request.cpus = cpus;
    request.channel = to[0];
    request.standard_output = from[1];
    request.log_file = "/dev/stderr";
    auto started = Process::start(request);
    close(to[0]);
    close(from[1]);
    if (!started) {
      fmt::print(stderr, "{}\n", started.error().message);
      std::exit(1);
    }
    process_ = std::make_unique<Process>(std::move(*started));
    input_ = fdopen(to[1], "w");
    output_ = fdopen(from[0], "r");
  }
  ~BareLoop() {
    fclose(input_);
    fclose(output_);
  }
  double median_of(int count) {
    [[maybe_unused]] const auto resumed = process_->resume();
    fmt::print(input_, "{}\n", count);
    std::fflush(input_);
    double value = 0;
    if (std::fscanf(output_, "%lf", &value) != 1) {
      fmt::print(stderr, "the bare loop ended\n");
      std::exit(1);
    }
    [[maybe_unused]] const auto stopped = process_->stop();
    return value;
  }

 private:
  std::unique_ptr<Process> process_;
  FILE* input_ = nullptr;
  FILE* output_ = nullptr;
};

std::unique_ptr<WorkerClient> start_worker(const Case& c, const ResolvedEngine& engine, const Bundle& bundle,
                                           const DimensionValues& shape, const std::vector<int>& cpus) {
  static MemoryWatch watch;
  WorkerLaunch launch;
  launch.name = c.engine;
  launch.command = engine.command;
  launch.environment = engine.environment;
  launch.cpus = cpus;
  launch.timeout = std::chrono::minutes(2);
  auto worker = must(WorkerClient::launch(launch, watch));
  Conditions conditions;
  conditions.mode = engine.mode;
  conditions.shape_mode = c.shape_mode;
  conditions.threads = static_cast<int>(cpus.size());
  const FormFiles& files = bundle.forms.at(engine.manifest.form);
  must(worker->call({{"do", "load"},
                     {"model", engine.manifest.reads == "onnx" ? files.onnx : files.graph},
                     {"conditions", to_json(conditions)}}));
  const TensorSet inputs = must(InputSource(bundle, 1).make(shape, {}));
  must(worker->call(inputs.prepare_request()));
  const int descriptor = inputs.memory.descriptor();
  must(worker->call(inputs.inputs_request(), std::span(&descriptor, 1)));
  must(worker->call({{"do", "infer"}, {"outputs", false}}));
  [[maybe_unused]] const auto rested = worker->rest();
  return worker;
}

std::unique_ptr<BareLoop> start_bare(const Case& c, const ResolvedEngine& engine,
                                     const DimensionValues& shape, const std::vector<int>& cpus) {
  std::vector<std::string> command = c.bare;
  command.insert(command.end(), {std::to_string(shape.at("batch")), std::to_string(shape.at("seq")),
                                 std::to_string(cpus.size())});
  if (c.engine == "openvino") {
    command.push_back(c.shape_mode);
  }
  const std::map<std::string, std::string> own = {{"OMP_NUM_THREADS", std::to_string(cpus.size())}};
  auto bare = std::make_unique<BareLoop>(command, c.engine_environment ? engine.environment : own, cpus);
  bare->median_of(1);
  return bare;
}

// The logarithm of one launch's ratio: the median over rounds. Which of the two starts first may matter, so
// that takes turns as well.
double one_launch(const Case& c, const ResolvedEngine& engine, const Bundle& bundle,
                  const DimensionValues& shape, const std::vector<int>& cpus, bool bare_first) {
  std::unique_ptr<BareLoop> bare;
  if (bare_first) {
    bare = start_bare(c, engine, shape, cpus);
  }
  const auto worker = start_worker(c, engine, bundle, shape, cpus);
  if (!bare_first) {
    bare = start_bare(c, engine, shape, cpus);
  }
  const double first = bare->median_of(5);
  const int count = std::max(3, static_cast<int>(kTurnNs / first));
  MeasureRequest request;
  request.warm_max_count = 2;
  request.warm_max_ns = 1'000'000'000;
  request.min_count = count;
  request.max_count = count;
  std::vector<double> ratios;
  for (int round = 0; round < kRounds; ++round) {
    double inside = 0;
    double outside = 0;
    for (int half = 0; half < 2; ++half) {
      if ((half + round) % 2 == 0) {
        bare->median_of(2);
        outside = bare->median_of(count);
      } else {
        const auto reply = must(measure_reply_from_json(must(worker->call(to_json(request))).body));
        inside = median({reply.samples_ns.begin(), reply.samples_ns.end()});
        [[maybe_unused]] const auto rested = worker->rest();
      }
    }
    ratios.push_back(std::log(inside / outside));
  }
  return median(ratios);
}

std::vector<Case> bare_cases(const Installation& installation, const Bundle& bundle) {
  const std::string ort =
      installation.home + "/sdk/onnxruntime/1.32.0/onnxruntime/capi/libonnxruntime.so.1.32.0";
  const std::string& model = bundle.forms.at("source").onnx;
  return {{"onnxruntime", "", "dynamic", {installation.bin + "/bare-onnxruntime", ort, model}},
          {"openvino", "", "fixed", {installation.bin + "/bare-openvino", model}},
          {"pytorch", "eager", "dynamic", {installation.bin + "/bare-pytorch"}}};
}

void compare(const Case& c, const Installation& installation, const Bundle& bundle) {
  static const auto catalogue = must(read_catalogue(installation.manifests));
  static const auto cpus = must(choose_cpu_set(0));
  const ResolvedEngine engine =
      must(resolve_engine(catalogue, {installation.home, installation.bin}, c.engine, "", c.mode, "cpu",
                          static_cast<int>(cpus.size())));
  for (const DimensionValues& shape :
       {DimensionValues{{"batch", 1}, {"seq", 8}}, {{"batch", 1}, {"seq", 64}}}) {
    std::vector<double> launches;
    for (int launch = 0; launch < kLaunches; ++launch) {
      launches.push_back((one_launch(c, engine, bundle, shape, cpus, false) +
                          one_launch(c, engine, bundle, shape, cpus, true)) /
                         2);
    }
    const auto interval = mean_interval(launches, 0.95);
    fmt::print("{:12} {}×{:<3} {:.3f}  95 % over launches [{:.3f}, {:.3f}]\n", c.engine, shape.at("batch"),
               shape.at("seq"), std::exp(median(launches)), std::exp(interval->low),
               std::exp(interval->high));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace touchstone

int main(int argc, char** argv) {
  using namespace touchstone;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const Installation installation = find_installation();
  const auto answer =
      must(call_model_helper(installation, {"prepare", "bert-base-chinese", "--home", installation.home}));
  const Bundle bundle = must(bundle_from_json(answer, answer.value("folder", "")));
  if (arguments.size() == 3 && arguments[0] == "--python") {
    fmt::print("PyTorch eager by Touchstone ÷ {}, {} pairs of launches of {} interleaved rounds (bar 1.00)\n",
               arguments[2], kLaunches, kRounds);
    compare({"pytorch", "eager", "dynamic", {arguments[1], arguments[2]}, false}, installation, bundle);
    return 0;
  }
  fmt::print(
      "median by Touchstone ÷ median of a bare loop, {} pairs of launches of {} interleaved rounds (bar 0.98 "
      "to "
      "1.02)\n",
      kLaunches, kRounds);
  for (const Case& c : bare_cases(installation, bundle)) {
    if (arguments.empty() || std::find(arguments.begin(), arguments.end(), c.engine) != arguments.end()) {
      compare(c, installation, bundle);
    }
  }
  return 0;
}
