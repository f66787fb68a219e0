// SPDX-License-Identifier: Apache-2.0
// Does nothing: what a sample of this engine shows is the harness itself.
#include "graph/bundle.h"
#include "graph/inputs.h"
#include "worker/harness.h"

namespace touchstone {
namespace {

class NullEngine final : public Engine {
 public:
  Result<EngineInfo> info() override { return EngineInfo{"null", "1", {}}; }

  Result<Options> load(const LoadRequest& request) override {
    TOUCHSTONE_ASSIGN(graph_, read_graph(request.model));
    return Options{};
  }

  /// Zeros of the shapes that the graph's outputs have for these inputs.
  Result<void> prepare(std::span<const TensorSpec> inputs) override {
    std::map<std::string, std::int64_t> dimensions;
    for (std::size_t i = 0; i < inputs.size() && i < graph_.inputs.size(); ++i) {
      const auto& symbolic = graph_.inputs[i].shape.value_or(std::vector<Dimension>{});
      for (std::size_t axis = 0; axis < symbolic.size() && axis < inputs[i].shape.size(); ++axis) {
        dimensions[symbolic[axis].symbol] = inputs[i].shape[axis];
      }
    }
    outputs_.clear();
    views_.clear();
    for (const ValueInfo& output : graph_.outputs) {
      TOUCHSTONE_ASSIGN(auto shape,
                        concrete_shape(output.shape.value_or(std::vector<Dimension>{}), dimensions));
      outputs_.emplace_back(byte_size(output.type, element_count(shape)));
      views_.push_back({output.type, std::move(shape), outputs_.back()});
    }
    return {};
  }

  Result<void> set_inputs(std::span<const TensorView>) override { return {}; }
  Result<void> infer() override { return {}; }
  Result<std::vector<TensorView>> outputs() override { return views_; }

 private:
  Graph graph_;
  std::vector<std::vector<std::byte>> outputs_;
  std::vector<TensorView> views_;
};

Result<std::unique_ptr<Engine>> make(const WorkerArguments&) {
  return std::make_unique<NullEngine>();
}

}  // namespace
}  // namespace touchstone

int main(int argc, char** argv) {
  return touchstone::run_worker(argc, argv, "null", touchstone::make);
}
