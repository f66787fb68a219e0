// SPDX-License-Identifier: Apache-2.0
#include "reference/interpreter.h"

#include <limits>

#include "reference/operators.h"

namespace touchstone {
namespace {

// Constants from here on stay mapped as float32; smaller ones are widened at once.
constexpr std::size_t kMapFrom = 1 << 16;

}  // namespace

Result<std::unique_ptr<Interpreter>> Interpreter::create(Graph graph, int threads) {
  set_reference_threads(threads);
  std::unique_ptr<Interpreter> interpreter(new Interpreter(std::move(graph)));
  for (std::size_t i = 0; i < interpreter->graph_.nodes.size(); ++i) {
    const Node& node = interpreter->graph_.nodes[i];
    if (find_operator(node) == nullptr) {
      return fail(Reason::kUnsupportedOperator, "operator {}{} (node '{}') is not in the reference",
                  node.domain.empty() ? "" : node.domain + ".", node.op_type, node.name);
    }
    for (const std::string& input : node.inputs) {
      interpreter->last_use_[input] = i;
    }
  }
  for (const ValueInfo& output : interpreter->graph_.outputs) {
    interpreter->last_use_[output.name] = std::numeric_limits<std::size_t>::max();
  }
  for (const auto& [name, constant] : interpreter->graph_.initializers) {
    auto value = interpreter->initial(constant);
    if (!value) {
      return fail(value.error().reason, "initializer '{}': {}", name, value.error().message);
    }
    interpreter->constants_.emplace(name, std::move(*value));
  }
  return interpreter;
}

Result<Value> Interpreter::initial(const Constant& constant) {
  TOUCHSTONE_ASSIGN(const auto bytes, weights_.bytes(constant));
  if (constant.type == DataType::kFloat && !constant.owned && bytes.size() >= kMapFrom &&
      reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) == 0) {
    return Value::weights(constant.shape,
                          {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)});
  }
  return Value::from_bytes(constant.type, constant.shape, bytes);
}

Result<void> Interpreter::run_node(const Node& node, std::map<std::string, Value>& values) {
  std::vector<Value> inputs;
  for (const std::string& name : node.inputs) {
    if (name.empty()) {
      inputs.emplace_back();
      continue;
    }
    if (const auto constant = constants_.find(name); constant != constants_.end()) {
      inputs.push_back(constant->second);
    } else if (const auto found = values.find(name); found != values.end()) {
      inputs.push_back(found->second);
    } else {
      return fail(Reason::kInvalidModel, "node '{}' ({}) reads '{}', which nothing makes", node.name,
                  node.op_type, name);
    }
  }
  auto outputs = find_operator(node)(Call{node, graph_.opset(), inputs});
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
    values[node.outputs[i]] = std::move((*outputs)[i]);
  }
  return {};
}

Result<std::vector<Value>> Interpreter::run(std::map<std::string, Value> inputs) {
  std::map<std::string, Value> values = std::move(inputs);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    try {
      TOUCHSTONE_TRY(run_node(node, values));
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
        values.erase(name);
      }
    }
  }
  std::vector<Value> outputs;
  for (const ValueInfo& output : graph_.outputs) {
    const auto found = values.find(output.name);
    const auto constant = constants_.find(output.name);
    if (found == values.end() && constant == constants_.end()) {
      return fail(Reason::kInvalidModel, "output '{}' is made by no node", output.name);
    }
    outputs.push_back(found == values.end() ? constant->second : found->second);
  }
  return outputs;
}

}  // namespace touchstone
