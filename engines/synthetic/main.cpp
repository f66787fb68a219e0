// SPDX-License-Identifier: Apache-2.0
// Latencies and faults by a script, for testing the bench. Its answers are those of the reference's
// interpreter in double precision, so that it passes every proof unless it is told to answer wrongly.
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "reference/interpreter.h"
#include "script.h"
#include "worker/harness.h"

namespace touchstone {
namespace {

constexpr int kChannel = 3;

void take_time(double ns, bool spin) {
  const auto time = std::chrono::nanoseconds(static_cast<std::int64_t>(ns));
  if (!spin) {
    std::this_thread::sleep_for(time);
    return;
  }
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

class SyntheticEngine final : public Engine {
 public:
  Result<EngineInfo> info() override { return EngineInfo{"synthetic", "1", {}}; }

  Result<Options> load(const LoadRequest& request) override {
    TOUCHSTONE_ASSIGN(latency_, LatencyScript::from(request.conditions.options));
    TOUCHSTONE_ASSIGN(fault_, FaultScript::from(request.conditions.options));
    TOUCHSTONE_TRY(strike("load", ++loads_));
    TOUCHSTONE_ASSIGN(Graph graph, read_graph(request.model));
    TOUCHSTONE_ASSIGN(interpreter_, Interpreter::create(std::move(graph), 1));
    return request.conditions.options;
  }

  Result<void> prepare(std::span<const TensorSpec> inputs) override {
    TOUCHSTONE_TRY(strike("prepare", ++prepares_));
    specs_.assign(inputs.begin(), inputs.end());
    return {};
  }

  Result<void> set_inputs(std::span<const TensorView> inputs) override {
    inputs_.clear();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      TOUCHSTONE_ASSIGN(inputs_[specs_[i].name],
                        Value::from_bytes(inputs[i].type, inputs[i].shape, inputs[i].bytes));
    }
    return {};
  }

  Result<void> infer() override {
    TOUCHSTONE_TRY(strike("infer", ++inferences_));
    take_time(latency_.next(), latency_.spins());
    return {};
  }

  // Computed when asked for, so that the script alone decides how long an inference takes.
  Result<std::vector<TensorView>> outputs() override {
    TOUCHSTONE_ASSIGN(outputs_, interpreter_->run(inputs_));
    const bool due = fault_.stage == "infer" && inferences_ >= fault_.call;
    std::vector<TensorView> views;
    for (Value& value : outputs_) {
      if (value.real() && due && !value.d().empty()) {
        spoil(value);
      }
      TensorView view;
      view.shape = value.shape();
      view.type = value.real() ? DataType::kDouble : DataType::kInt64;
      const auto bytes = value.real() ? std::as_bytes(value.d()) : std::as_bytes(value.i());
      view.bytes = {const_cast<std::byte*>(bytes.data()), bytes.size()};
      views.push_back(std::move(view));
    }
    return views;
  }

 private:
  void spoil(Value& value) const {
    std::vector<double> data(value.d().begin(), value.d().end());
    if (fault_.kind == "wrong") {
      data.back() += 1 + std::abs(data.back());
    } else if (fault_.kind == "nan") {
      data.front() = std::nan("");
    }
    value = Value::reals(value.shape(), std::move(data), value.type());
  }

  // The fault, if this is the call that it was ordered for.
  Result<void> strike(const std::string& stage, std::int64_t call) {
    if (fault_.kind.empty() || fault_.stage != stage || (call != fault_.call && fault_.kind != "leak")) {
      return {};
    }
    if (fault_.kind == "segv") {
      std::raise(SIGSEGV);
    } else if (fault_.kind == "abort") {
      std::abort();
    } else if (fault_.kind == "exit") {
      std::_Exit(7);
    } else if (fault_.kind == "hang") {
      while (true) {
        pause();
      }
    } else if (fault_.kind == "allocate" || fault_.kind == "leak") {
      auto* memory = new char[fault_.bytes];
      std::memset(memory, 1, fault_.bytes);
      asm volatile("" : : "r"(memory) : "memory");  // or the compiler leaves both out
    } else if (fault_.kind == "garbage") {
      constexpr std::string_view kGarbage = "this is not JSON\n";
      [[maybe_unused]] const auto written = write(kChannel, kGarbage.data(), kGarbage.size());
    } else if (fault_.kind == "fail") {
      return fail(Reason::kUnsupportedOperator,
                  "operator Imaginary (node 'nowhere') is not supported, as ordered");
    } else if (fault_.kind == "fork") {
      if (fork() == 0) {
        while (true) {
          pause();
        }
      }
    } else if (fault_.kind == "stdout") {
      std::printf("{\"id\":1,\"ok\":true}\nnoise\n");
      std::fflush(stdout);
    } else if (fault_.kind == "thread") {
      std::thread([] {
        const volatile bool for_ever = true;
        while (for_ever) {
        }
      }).detach();
    }
    return {};
  }

  LatencyScript latency_;
  FaultScript fault_;
  std::int64_t loads_ = 0, prepares_ = 0, inferences_ = 0;
  std::unique_ptr<Interpreter> interpreter_;
  std::vector<TensorSpec> specs_;
  std::map<std::string, Value> inputs_;
  std::vector<Value> outputs_;
};

Result<std::unique_ptr<Engine>> make(const WorkerArguments&) {
  return std::make_unique<SyntheticEngine>();
}

}  // namespace
}  // namespace touchstone

int main(int argc, char** argv) {
  return touchstone::run_worker(argc, argv, "synthetic", touchstone::make);
}
