// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/cost.h"

#include <algorithm>
#include <optional>
#include <set>

#include "graph/passes/flops.h"

namespace touchstone {
namespace {

struct Known {
  DataType type = DataType::kUndefined;
  Shape shape;
};

class Shapes {
 public:
  explicit Shapes(const Graph& graph) {
    for (const auto& [name, constant] : graph.initializers) {
      known_.emplace(name, Known{constant.type, constant.shape});
    }
    for (const auto& [name, value] : graph.values) {
      add(value);
    }
    std::for_each(graph.inputs.begin(), graph.inputs.end(), [&](const auto& value) { add(value); });
    std::for_each(graph.outputs.begin(), graph.outputs.end(), [&](const auto& value) { add(value); });
  }

  /// Null where the shape is not known or not concrete.
  const Known* find(const std::string& name) const {
    const auto found = known_.find(name);
    return found == known_.end() ? nullptr : &found->second;
  }

 private:
  void add(const ValueInfo& value) {
    if (!value.shape) {
      return;
    }
    Known known{value.type, {}};
    for (const Dimension& dimension : *value.shape) {
      if (!dimension.value) {
        return;
      }
      known.shape.push_back(*dimension.value);
    }
    known_.emplace(value.name, std::move(known));
  }

  std::map<std::string, Known> known_;
};

std::uint64_t bytes_of(const Known& known) {
  return byte_size(known.type, element_count(known.shape));
}

std::uint64_t moved_bytes(const Node& node, const std::vector<Known>& inputs,
                          const std::vector<Known>& outputs) {
  static const std::set<std::string> kViews = {"Reshape",  "Squeeze", "Unsqueeze", "Flatten",
                                               "Identity", "Shape",   "Size",      "Dropout"};
  static const std::set<std::string> kPartial = {"Gather", "GatherElements", "GatherND", "Slice"};
  if (node.domain.empty() && kViews.contains(node.op_type)) {
    return 0;
  }
  std::uint64_t bytes = 0;
  for (const Known& output : outputs) {
    bytes += bytes_of(output);
  }
  const bool partial = node.domain.empty() && kPartial.contains(node.op_type);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    bytes += partial && i == 0 ? bytes_of(outputs.at(0)) : bytes_of(inputs[i]);
  }
  return bytes;
}

Result<std::vector<Known>> shapes_of(const Node& node, const std::vector<std::string>& names,
                                     const Shapes& shapes, bool keep_omitted) {
  std::vector<Known> list;
  for (const std::string& name : names) {
    if (name.empty()) {
      if (keep_omitted) {
        list.push_back({DataType::kUndefined, {0}});
      }
      continue;
    }
    const Known* known = shapes.find(name);
    if (known == nullptr) {
      return fail(Reason::kInvalidModel,
                  "node '{}' ({}): the shape of '{}' cannot be told before the model runs, so its operations "
                  "cannot be counted",
                  node.name, node.op_type, name);
    }
    list.push_back(*known);
  }
  return list;
}

std::vector<Shape> plain(const std::vector<Known>& list) {
  std::vector<Shape> shapes;
  for (const Known& known : list) {
    shapes.push_back(known.shape);
  }
  return shapes;
}

}  // namespace

Result<Cost> count_cost(const Graph& graph) {
  static const std::set<std::string> kDependsOnData = {"If", "Loop", "Scan", "SequenceMap"};
  const Shapes shapes(graph);
  Cost cost;
  for (const Node& node : graph.nodes) {
    if (node.domain.empty() && kDependsOnData.contains(node.op_type)) {
      cost.uncounted.push_back(node.name);
      continue;
    }
    TOUCHSTONE_ASSIGN(const std::vector<Known> inputs, shapes_of(node, node.inputs, shapes, true));
    TOUCHSTONE_ASSIGN(const std::vector<Known> outputs, shapes_of(node, node.outputs, shapes, false));
    if (outputs.empty()) {
      continue;
    }
    const std::string op = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
    const NodeCost counted{node.name, op, flops_of(node, plain(inputs), plain(outputs)),
                           moved_bytes(node, inputs, outputs)};
    OperatorCost& sum = cost.by_operator[op];
    ++sum.nodes;
    sum.flops += counted.flops;
    sum.bytes += counted.bytes;
    cost.flops += counted.flops;
    cost.bytes += counted.bytes;
    cost.nodes.push_back(counted);
  }
  return cost;
}

}  // namespace touchstone
