// SPDX-License-Identifier: Apache-2.0
// One graph ready to run: its constants read, the graphs inside its nodes prepared in the same way.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/bundle.h"
#include "reference/operators.h"
#include "reference/value.h"

namespace touchstone {

class Program {
 public:
  /// The values that a graph sees while it runs: its own, and those of the graphs around it.
  struct Environment {
    const Program& program;
    std::map<std::string, Value> values;
    const Environment* outer = nullptr;
    const Value* find(const std::string& name) const;
  };

  /// `graph` and `weights` have to outlive the program. Errors: unsupported-operator, invalid-model.
  static Result<std::unique_ptr<const Program>> create(const Graph& graph, int opset, WeightMap& weights);

  /// Errors: invalid-input and invalid-model, naming the node.
  Result<std::vector<Value>> run(std::map<std::string, Value> inputs, const Environment* outer) const;

  const Graph& graph() const { return graph_; }
  /// The program of a graph in an attribute; null where there is none.
  const Program* inner(const Node& node, const std::string& attribute) const;

 private:
  Program(const Graph& graph, int opset) : graph_(graph), opset_(opset) {}
  Result<void> prepare_node(std::size_t index, WeightMap& weights);
  Result<void> run_node(const Node& node, Environment& environment) const;
  Result<std::vector<Value>> outputs(const Environment& environment) const;

  const Graph& graph_;
  int opset_;
  std::map<std::string, Value> constants_;
  std::map<std::string, std::size_t> last_use_;  // value name -> index of the last node that reads it
  std::map<std::pair<const Node*, std::string>, std::unique_ptr<const Program>> inner_;
};

}  // namespace touchstone
