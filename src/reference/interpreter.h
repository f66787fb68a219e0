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

class Program;

class Interpreter {
 public:
  /// Checks that every operator is known, in inner graphs too, and maps the weights. Errors:
  /// unsupported-operator naming operator and node.
  static Result<std::unique_ptr<Interpreter>> create(Graph graph, int threads);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// Inputs by name; returns the graph's outputs in order. Errors: invalid-input with the node;
  /// out-of-memory.
  Result<std::vector<Value>> run(std::map<std::string, Value> inputs);

  const Graph& graph() const { return graph_; }

 private:
  explicit Interpreter(Graph graph);

  Graph graph_;
  WeightMap weights_;
  std::unique_ptr<const Program> program_;
};

}  // namespace touchstone
