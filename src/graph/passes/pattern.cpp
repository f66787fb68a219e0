// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/pattern.h"

#include <algorithm>

#include "graph/passes/small_tensor.h"

namespace touchstone {
namespace {

// What inner graphs (If, Loop, Scan) read from outside belongs to the node that holds them.
void collect_reads(const Node& node, std::set<std::string>& names) {
  names.insert(node.inputs.begin(), node.inputs.end());
  for (const auto& [key, attribute] : node.attributes) {
    if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) {
      for (const Node& inner_node : (*inner)->nodes) {
        collect_reads(inner_node, names);
      }
      for (const ValueInfo& output : (*inner)->outputs) {
        names.insert(output.name);
      }
    }
  }
}

}  // namespace

GraphIndex::GraphIndex(const Graph& graph) : graph_(graph) {
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      makers_.emplace(output, &node);
    }
    std::set<std::string> reads;
    collect_reads(node, reads);
    for (const std::string& name : reads) {
      readers_[name].insert(&node);
    }
  }
  for (const ValueInfo& input : graph.inputs) {
    inputs_.emplace(input.name, &input);
  }
  for (const ValueInfo& output : graph.outputs) {
    outputs_.insert(output.name);
  }
}

const Node* GraphIndex::maker(const std::string& value) const {
  const auto found = makers_.find(value);
  return found == makers_.end() ? nullptr : found->second;
}

const Node* GraphIndex::made_by(const std::string& value, const char* op_type) const {
  const Node* node = maker(value);
  return node != nullptr && node->domain.empty() && node->op_type == op_type && node->outputs[0] == value
             ? node
             : nullptr;
}

bool GraphIndex::only_read_by(const std::string& value, const std::set<const Node*>& nodes) const {
  if (outputs_.contains(value)) {
    return false;
  }
  const auto readers = readers_.find(value);
  return readers == readers_.end() ||
         std::includes(nodes.begin(), nodes.end(), readers->second.begin(), readers->second.end());
}

const Constant* GraphIndex::constant(const std::string& value) const {
  const auto found = graph_.initializers.find(value);
  return found == graph_.initializers.end() ? nullptr : &found->second;
}

std::optional<double> GraphIndex::scalar(const std::string& value) const {
  const Constant* data = constant(value);
  if (data == nullptr || element_count(data->shape) != 1 || data->shape.size() > 1) {
    return std::nullopt;
  }
  const auto tensor = small_tensor(*data);
  return tensor && tensor->is_float() ? std::optional(tensor->floats.front()) : std::nullopt;
}

std::optional<std::vector<std::int64_t>> GraphIndex::integers(const std::string& value) const {
  const Constant* data = constant(value);
  const auto tensor = data == nullptr ? std::nullopt : small_tensor(*data);
  return tensor && !tensor->is_float() ? std::optional(tensor->ints) : std::nullopt;
}

const ValueInfo* GraphIndex::info(const std::string& value) const {
  if (const auto input = inputs_.find(value); input != inputs_.end()) {
    return input->second;
  }
  if (const auto known = graph_.values.find(value); known != graph_.values.end()) {
    return &known->second;
  }
  const auto output = std::find_if(graph_.outputs.begin(), graph_.outputs.end(),
                                   [&](const ValueInfo& candidate) { return candidate.name == value; });
  return output == graph_.outputs.end() ? nullptr : &*output;
}

DataType GraphIndex::type(const std::string& value) const {
  if (const Constant* data = constant(value)) {
    return data->type;
  }
  const ValueInfo* known = info(value);
  return known == nullptr ? DataType::kUndefined : known->type;
}

std::optional<std::vector<Dimension>> GraphIndex::shape(const std::string& value) const {
  if (const Constant* data = constant(value)) {
    std::vector<Dimension> dimensions;
    for (const std::int64_t extent : data->shape) {
      dimensions.push_back({extent, ""});
    }
    return dimensions;
  }
  const ValueInfo* known = info(value);
  return known == nullptr ? std::nullopt : known->shape;
}

std::optional<std::int64_t> GraphIndex::rank(const std::string& value) const {
  const auto known = shape(value);
  return known ? std::optional(static_cast<std::int64_t>(known->size())) : std::nullopt;
}

std::optional<std::int64_t> GraphIndex::width(const std::string& value) const {
  const auto known = shape(value);
  return known && !known->empty() ? known->back().value : std::nullopt;
}

bool is_closed(const GraphIndex& index, const Replacement& replacement) {
  const auto made_inside = [&](const std::string& input) {
    return replacement.covered.contains(index.maker(input));
  };
  const auto& inputs = replacement.node.inputs;
  if (std::any_of(inputs.begin(), inputs.end(), made_inside)) {
    return false;
  }
  for (const Node* node : replacement.covered) {
    for (const std::string& output : node->outputs) {
      if (output != replacement.node.outputs[0] && !index.only_read_by(output, replacement.covered)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace touchstone
