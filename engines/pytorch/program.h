// SPDX-License-Identifier: Apache-2.0
// A graph made ready to run: constants as tensors, steps with numbered slots, memory freed at the last use.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/bundle.h"
#include "lowering.h"

namespace touchstone::pytorch {

/// One call. Slots are indices into the program's values; -1 is an omitted input or an unused output.
struct Step {
  Lowered call;
  std::vector<int> inputs, outputs;
  std::vector<int> last_uses;  // slots whose values nobody needs afterwards
  std::string name;            // of the node, for messages
};

class Program {
 public:
  /// Lowers every node; MatMul by a constant followed by Add of a constant vector becomes `linear`, as its
  /// users write it. Errors: unsupported-operator naming operator and node; invalid-model.
  static Result<std::unique_ptr<Program>> create(Graph graph);

  /// Runs op by op. `inputs` in the graph's order.
  Tensors run(const Tensors& inputs) const;

  const Graph& graph() const { return graph_; }
  const std::vector<Step>& steps() const { return steps_; }
  /// Slot -> constant, undefined where the slot is computed.
  const Tensors& constants() const { return constants_; }
  const std::vector<int>& input_slots() const { return input_slots_; }
  const std::vector<int>& output_slots() const { return output_slots_; }

 private:
  explicit Program(Graph graph) : graph_(std::move(graph)) {}
  Result<void> load_constants();
  Result<void> lower();
  Result<void> lower_node(const Node& node);
  bool lower_linear(std::size_t index);
  void drop_unused_constants();
  void find_last_uses();
  int slot_of(const std::string& name);
  at::Tensor constant_of(const std::string& name) const;
  bool read_once(const std::string& name) const;

  Graph graph_;
  WeightMap weights_;
  std::map<std::string, int> slots_;
  std::map<std::string, int> readers_;  // how many nodes and outputs read a value
  Tensors constants_;
  std::vector<Step> steps_;
  std::vector<int> input_slots_, output_slots_;
  std::vector<bool> skipped_;  // nodes that another step has taken in
};

/// A constant as a tensor in memory of its own. Errors: unsupported, invalid-model.
Result<at::Tensor> constant_tensor(const Constant& constant);

}  // namespace touchstone::pytorch
