// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/fold.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/bundle.h"
#include "graph/passes/small_tensor.h"

namespace touchstone {
namespace {

// The tensor of a Constant node, whichever attribute holds it.
std::optional<Constant> constant_of(const Node& node) {
  for (const auto& [key, attribute] : node.attributes) {
    if (const auto* tensor = std::get_if<Constant>(&attribute.value); tensor != nullptr && key == "value") {
      return *tensor;
    }
    if (const auto* number = std::get_if<std::int64_t>(&attribute.value)) {
      return make_constant<std::int64_t>(DataType::kInt64, {}, std::span(number, 1));
    }
    if (const auto* number = std::get_if<float>(&attribute.value)) {
      return make_constant<float>(DataType::kFloat, {}, std::span(number, 1));
    }
    if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&attribute.value)) {
      return make_constant<std::int64_t>(DataType::kInt64, {static_cast<std::int64_t>(numbers->size())},
                                         *numbers);
    }
    if (const auto* numbers = std::get_if<std::vector<float>>(&attribute.value)) {
      return make_constant<float>(DataType::kFloat, {static_cast<std::int64_t>(numbers->size())}, *numbers);
    }
  }
  return std::nullopt;
}

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph) {
    for (const ValueInfo& output : graph.outputs) {
      outputs_.insert(output.name);
    }
    for (const ValueInfo& input : graph.inputs) {
      input_infos_.emplace(input.name, &input);
    }
  }

  /// True where the node's value is an initializer now and the node can go.
  bool fold(const Node& node) {
    if (node.outputs.size() != 1 || !node.domain.empty() || outputs_.contains(node.outputs[0])) {
      return false;
    }
    if (node.op_type == "Constant") {
      auto constant = constant_of(node);
      return constant && add(node, std::move(*constant));
    }
    if (node.op_type == "Shape" || node.op_type == "Size") {
      const auto shape = shape_of(node);
      return shape && add(node, to_constant(*shape));
    }
    const auto result = result_of(node);
    return result && add(node, to_constant(*result));
  }

 private:
  bool add(const Node& node, Constant constant) {
    graph_.initializers.insert_or_assign(node.outputs[0], std::move(constant));
    return true;
  }

  const SmallTensor* known(const std::string& name) {
    if (const auto found = known_.find(name); found != known_.end()) {
      return found->second ? &*found->second : nullptr;
    }
    const auto constant = graph_.initializers.find(name);
    if (constant == graph_.initializers.end()) {
      return nullptr;
    }
    const auto& entry = known_.emplace(name, small_tensor(constant->second)).first->second;
    return entry ? &*entry : nullptr;
  }

  std::optional<SmallTensor> result_of(const Node& node) {
    std::vector<const SmallTensor*> inputs;
    for (const std::string& name : node.inputs) {
      inputs.push_back(name.empty() ? nullptr : known(name));
      if (!name.empty() && inputs.back() == nullptr) {
        return std::nullopt;
      }
    }
    return evaluate(node, graph_.opset(), inputs);
  }

  std::optional<std::vector<std::int64_t>> dimensions(const std::string& name) const {
    if (const auto constant = graph_.initializers.find(name); constant != graph_.initializers.end()) {
      return constant->second.shape;
    }
    const auto input = input_infos_.find(name);
    const auto value = graph_.values.find(name);
    const ValueInfo* info = input != input_infos_.end()    ? input->second
                            : value != graph_.values.end() ? &value->second
                                                           : nullptr;
    if (info == nullptr || !info->shape) {
      return std::nullopt;
    }
    std::vector<std::int64_t> shape;
    for (const Dimension& dimension : *info->shape) {
      if (!dimension.value) {
        return std::nullopt;
      }
      shape.push_back(*dimension.value);
    }
    return shape;
  }

  std::optional<SmallTensor> shape_of(const Node& node) const {
    const auto shape = dimensions(node.inputs.at(0));
    if (!shape) {
      return std::nullopt;
    }
    if (node.op_type == "Size") {
      return SmallTensor{DataType::kInt64, {}, {static_cast<std::int64_t>(element_count(*shape))}, {}};
    }
    const auto rank = static_cast<std::int64_t>(shape->size());
    const auto bound = [&](const char* name, std::int64_t fallback) {
      const std::int64_t given = node.int_attribute(name, fallback);
      return std::clamp<std::int64_t>(given < 0 ? given + rank : given, 0, rank);
    };
    const std::int64_t start = bound("start", 0);
    const std::int64_t end = std::max(start, bound("end", rank));
    return SmallTensor{DataType::kInt64, {end - start}, {shape->begin() + start, shape->begin() + end}, {}};
  }

  Graph& graph_;
  std::set<std::string> outputs_;
  std::map<std::string, const ValueInfo*> input_infos_;
  std::map<std::string, std::optional<SmallTensor>> known_;
};

}  // namespace

Graph fold_constants(Graph graph) {
  std::vector<Node> nodes = std::move(graph.nodes);
  graph.nodes.clear();
  Folder folder(graph);
  for (Node& node : nodes) {
    if (!folder.fold(node)) {
      graph.nodes.push_back(std::move(node));
    }
  }
  return graph;
}

}  // namespace touchstone
