// SPDX-License-Identifier: Apache-2.0
// The reference as a worker like any other: its outputs are float64 (and int64), a hostile model takes down
// only itself.
#include "reference/interpreter.h"
#include "worker/harness.h"

namespace touchstone {
namespace {

class ReferenceEngine final : public Engine {
 public:
  Result<EngineInfo> info() override { return EngineInfo{"reference", "1", {}}; }

  Result<Options> load(const LoadRequest& request) override {
    TOUCHSTONE_ASSIGN(Graph graph, read_graph(request.model));
    TOUCHSTONE_ASSIGN(interpreter_, Interpreter::create(std::move(graph), request.conditions.threads));
    return Options{{"precision", "float64"}};
  }

  Result<void> prepare(std::span<const TensorSpec> inputs) override {
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
    TOUCHSTONE_ASSIGN(outputs_, interpreter_->run(inputs_));
    return {};
  }

  Result<std::vector<TensorView>> outputs() override {
    std::vector<TensorView> views;
    for (const Value& value : outputs_) {
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
  std::unique_ptr<Interpreter> interpreter_;
  std::vector<TensorSpec> specs_;
  std::map<std::string, Value> inputs_;
  std::vector<Value> outputs_;
};

Result<std::unique_ptr<Engine>> make(const WorkerArguments&) {
  return std::make_unique<ReferenceEngine>();
}

}  // namespace
}  // namespace touchstone

int main(int argc, char** argv) {
  return touchstone::run_worker(argc, argv, "reference", touchstone::make);
}
