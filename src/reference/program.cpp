// SPDX-License-Identifier: Apache-2.0
#include "reference/program.h"

#include <limits>
#include <set>

namespace touchstone {
namespace {

// Constants from here on stay mapped as float32; smaller ones are widened at once.
constexpr std::size_t kMapFrom = 1 << 16;

Result<Value> initial(const Constant& constant, WeightMap& weights) {
  TOUCHSTONE_ASSIGN(const auto bytes, weights.bytes(constant));
  if (constant.type == DataType::kFloat && !constant.owned && bytes.size() >= kMapFrom &&
      reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) == 0) {
    return Value::weights(constant.shape,
                          {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)});
  }
  return Value::from_bytes(constant.type, constant.shape, bytes);
}

// The graphs in a node's attributes.
std::vector<std::pair<std::string, const Graph*>> graphs_of(const Node& node) {
  std::vector<std::pair<std::string, const Graph*>> graphs;
  for (const auto& [name, attribute] : node.attributes) {
    if (const auto* graph = std::get_if<std::shared_ptr<Graph>>(&attribute.value); graph && *graph) {
      graphs.emplace_back(name, graph->get());
    }
  }
  return graphs;
}

// Every name that a node reads, inside its graphs too; more than needed where inner names hide outer ones,
// which only keeps a value longer.
void names_read(const Node& node, std::set<std::string>& names) {
  names.insert(node.inputs.begin(), node.inputs.end());
  for (const auto& [attribute, graph] : graphs_of(node)) {
    for (const Node& inner : graph->nodes) {
      names_read(inner, names);
    }
    for (const ValueInfo& output : graph->outputs) {
      names.insert(output.name);
    }
  }
}

// Runs the graphs of one node in the environment that it stands in.
class NodeBodies final : public Bodies {
 public:
  NodeBodies(const Node& node, const Program::Environment& environment)
      : node_(node), environment_(environment) {}

  const Graph& graph(const std::string& attribute) const override { return program(attribute).graph(); }

  Outputs run(const std::string& attribute, std::vector<Value> inputs) const override {
    const Program& body = program(attribute);
    std::map<std::string, Value> named;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      named[body.graph().inputs.at(i).name] = std::move(inputs[i]);
    }
    return body.run(std::move(named), &environment_);
  }

 private:
  const Program& program(const std::string& attribute) const {
    const Program* found = environment_.program.inner(node_, attribute);
    if (found == nullptr) {
      throw std::out_of_range("a graph is missing");
    }
    return *found;
  }

  const Node& node_;
  const Program::Environment& environment_;
};

}  // namespace

const Value* Program::Environment::find(const std::string& name) const {
  for (const Environment* at = this; at != nullptr; at = at->outer) {
    if (const auto own = at->values.find(name); own != at->values.end()) {
      return &own->second;
    }
    if (const auto constant = at->program.constants_.find(name); constant != at->program.constants_.end()) {
      return &constant->second;
    }
  }
  return nullptr;
}

const Program* Program::inner(const Node& node, const std::string& attribute) const {
  const auto found = inner_.find({&node, attribute});
  return found == inner_.end() ? nullptr : found->second.get();
}

Result<std::unique_ptr<const Program>> Program::create(const Graph& graph, int opset, WeightMap& weights) {
  std::unique_ptr<Program> program(new Program(graph, opset));
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    TOUCHSTONE_TRY(program->prepare_node(i, weights));
  }
  for (const ValueInfo& output : graph.outputs) {
    program->last_use_[output.name] = std::numeric_limits<std::size_t>::max();
  }
  for (const auto& [name, constant] : graph.initializers) {
    auto value = initial(constant, weights);
    if (!value) {
      return fail(value.error().reason, "initializer '{}': {}", name, value.error().message);
    }
    program->constants_.emplace(name, std::move(*value));
  }
  return program;
}

Result<void> Program::prepare_node(std::size_t index, WeightMap& weights) {
  const Node& node = graph_.nodes[index];
  if (find_operator(node) == nullptr) {
    return fail(Reason::kUnsupportedOperator, "operator {}{} (node '{}') is not in the reference",
                node.domain.empty() ? "" : node.domain + ".", node.op_type, node.name);
  }
  for (const auto& [attribute, graph] : graphs_of(node)) {
    TOUCHSTONE_ASSIGN(inner_[std::pair(&node, attribute)], create(*graph, opset_, weights));
  }
  std::set<std::string> names;
  names_read(node, names);
  for (const std::string& name : names) {
    last_use_[name] = index;
  }
  return {};
}

Result<void> Program::run_node(const Node& node, Environment& environment) const {
  std::vector<Value> inputs;
  for (const std::string& name : node.inputs) {
    if (name.empty()) {
      inputs.emplace_back();
      continue;
    }
    const Value* found = environment.find(name);
    if (found == nullptr) {
      return fail(Reason::kInvalidModel, "node '{}' ({}) reads '{}', which nothing makes", node.name,
                  node.op_type, name);
    }
    inputs.push_back(*found);
  }
  const NodeBodies bodies(node, environment);
  auto outputs = find_operator(node)(Call{node, opset_, inputs, bodies});
  if (!outputs) {
    return tl::unexpected(outputs.error());
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) {
      continue;
    }
    if (i >= outputs->size()) {
      return fail(Reason::kUnsupported, "node '{}' ({}): the reference does not compute its output {}",
                  node.name, node.op_type, i);
    }
    environment.values[node.outputs[i]] = std::move((*outputs)[i]);
  }
  return {};
}

Result<std::vector<Value>> Program::outputs(const Environment& environment) const {
  std::vector<Value> outputs;
  for (const ValueInfo& output : graph_.outputs) {
    const Value* found = environment.find(output.name);
    if (found == nullptr) {
      return fail(Reason::kInvalidModel, "output '{}' is made by no node", output.name);
    }
    outputs.push_back(*found);
  }
  return outputs;
}

Result<std::vector<Value>> Program::run(std::map<std::string, Value> inputs, const Environment* outer) const {
  Environment environment{*this, std::move(inputs), outer};
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    try {
      TOUCHSTONE_TRY(run_node(node, environment));
    } catch (const std::out_of_range&) {
      return fail(Reason::kInvalidInput,
                  "node '{}' ({}): an input is missing, of another kind or of another shape than it wants",
                  node.name, node.op_type);
    } catch (const std::bad_variant_access&) {
      return fail(Reason::kInvalidModel, "node '{}' ({}): an attribute is of the wrong kind", node.name,
                  node.op_type);
    }
    for (const std::string& name : node.inputs) {
      if (const auto last = last_use_.find(name); last != last_use_.end() && last->second == i) {
        environment.values.erase(name);
      }
    }
  }
  return outputs(environment);
}

}  // namespace touchstone
