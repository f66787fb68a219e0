// SPDX-License-Identifier: Apache-2.0
// Runs a graph in double precision, node by node, as it stands: never fused, never folded.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/bundle.h"
#include "reference/value.h"

namespace touchstone {

class Interpreter {
 public:
  /// Checks that every operator is known and maps the weights. Errors: unsupported-operator naming operator
  /// and node.
  static Result<std::unique_ptr<Interpreter>> create(Graph graph, int threads);

  /// Inputs by name; returns the graph's outputs in order. Errors: invalid-input with the node;
  /// out-of-memory.
  Result<std::vector<Value>> run(std::map<std::string, Value> inputs);

  const Graph& graph() const { return graph_; }

 private:
  explicit Interpreter(Graph graph) : graph_(std::move(graph)) {}
  Result<Value> initial(const Constant& constant);
  Result<void> run_node(const Node& node, std::map<std::string, Value>& values);

  Graph graph_;
  WeightMap weights_;
  std::map<std::string, Value> constants_;
  std::map<std::string, std::size_t> last_use_;  // value name -> index of the last node that reads it
};

}  // namespace touchstone
