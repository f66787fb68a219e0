// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>

#include <algorithm>
#include <cstring>

namespace touchstone::pytorch {
namespace {

// Copied, not mapped: the allocator aligns to 64 bytes, as it does for anybody's weights.
Result<at::Tensor> tensor_from(const Constant& constant, std::span<const std::byte> bytes) {
  TOUCHSTONE_ASSIGN(const at::ScalarType type, scalar_type(constant.type));
  at::Tensor tensor = at::empty(constant.shape, at::TensorOptions().dtype(type));
  if (tensor.nbytes() != bytes.size()) {
    return fail(Reason::kInvalidModel, "a constant has {} bytes, its shape wants {}", bytes.size(),
                tensor.nbytes());
  }
  if (!bytes.empty()) {
    std::memcpy(tensor.mutable_data_ptr(), bytes.data(), bytes.size());
  }
  return tensor;
}

}  // namespace

Result<at::Tensor> constant_tensor(const Constant& constant) {
  WeightMap weights;
  TOUCHSTONE_ASSIGN(const auto bytes, weights.bytes(constant));
  return tensor_from(constant, bytes);
}

Result<std::unique_ptr<Program>> Program::create(Graph graph) {
  std::unique_ptr<Program> program(new Program(std::move(graph)));
  TOUCHSTONE_TRY(program->load_constants());
  TOUCHSTONE_TRY(program->lower());
  return program;
}

int Program::slot_of(const std::string& name) {
  if (name.empty()) {
    return -1;
  }
  const auto [entry, added] = slots_.emplace(name, static_cast<int>(slots_.size()));
  if (added) {
    constants_.resize(slots_.size());
  }
  return entry->second;
}

at::Tensor Program::constant_of(const std::string& name) const {
  const auto slot = slots_.find(name);
  return slot == slots_.end() ? at::Tensor() : constants_[static_cast<std::size_t>(slot->second)];
}

Result<void> Program::load_constants() {
  for (const auto& [name, constant] : graph_.initializers) {
    TOUCHSTONE_ASSIGN(const auto bytes, weights_.bytes(constant));
    auto tensor = tensor_from(constant, bytes);
    if (!tensor) {
      return fail(tensor.error().reason, "initializer '{}': {}", name, tensor.error().message);
    }
    const int slot = slot_of(name);
    constants_[static_cast<std::size_t>(slot)] = std::move(*tensor);
  }
  return {};
}

Result<void> Program::lower() {
  for (const ValueInfo& input : graph_.inputs) {
    input_slots_.push_back(slot_of(input.name));
  }
  for (const Node& node : graph_.nodes) {
    for (const std::string& input : node.inputs) {
      ++readers_[input];
    }
  }
  for (const ValueInfo& output : graph_.outputs) {
    ++readers_[output.name];
  }
  skipped_.assign(graph_.nodes.size(), false);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    if (!skipped_[i] && !lower_linear(i)) {
      TOUCHSTONE_TRY(lower_node(graph_.nodes[i]));
    }
  }
  for (const ValueInfo& output : graph_.outputs) {
    output_slots_.push_back(slot_of(output.name));
  }
  drop_unused_constants();
  find_last_uses();
  return {};
}

bool Program::read_once(const std::string& name) const {
  const auto found = readers_.find(name);
  return found != readers_.end() && found->second == 1;
}

// MatMul(x, W) + b with constant W [in, out] and b [out]: linear(x, Wᵀ, b), the weight laid out as nn.Linear
// keeps it.
bool Program::lower_linear(std::size_t index) {
  const Node& product = graph_.nodes[index];
  if (product.op_type != "MatMul" || !product.domain.empty() || product.inputs.size() != 2) {
    return false;
  }
  const at::Tensor weight = constant_of(product.inputs[1]);
  if (!weight.defined() || weight.dim() != 2 || !weight.is_floating_point()) {
    return false;
  }
  std::string output = product.outputs[0];
  at::Tensor bias;
  std::string bias_name;
  for (std::size_t i = index + 1; read_once(output) && i < graph_.nodes.size(); ++i) {
    const Node& sum = graph_.nodes[i];
    const auto at = std::find(sum.inputs.begin(), sum.inputs.end(), output);
    if (at == sum.inputs.end()) {
      continue;
    }
    if (sum.op_type == "Add" && sum.inputs.size() == 2) {
      bias_name = at == sum.inputs.begin() ? sum.inputs[1] : sum.inputs[0];
      bias = constant_of(bias_name);
    }
    if (bias.defined() && bias.dim() == 1 && bias.size(0) == weight.size(1)) {
      output = sum.outputs[0];
      skipped_[i] = true;
    } else {
      bias = at::Tensor();
    }
    break;
  }
  const std::string transposed = product.inputs[1] + "/transposed";
  const bool known = slots_.contains(transposed);
  const int weight_slot = slot_of(transposed);
  if (!known) {
    constants_[static_cast<std::size_t>(weight_slot)] = weight.t().contiguous();
  }
  Step step;
  step.name = product.name;
  step.inputs = {slot_of(product.inputs[0]), weight_slot};
  if (bias.defined()) {
    step.inputs.push_back(slot_of(bias_name));
    step.call = {[](const Tensors& in) { return Tensors{at::linear(in[0], in[1], in[2])}; },
                 call_text("torch.linear")};
  } else {
    step.call = {[](const Tensors& in) { return Tensors{at::linear(in[0], in[1])}; },
                 call_text("torch.linear")};
  }
  step.outputs = {slot_of(output)};
  steps_.push_back(std::move(step));
  return true;
}

Result<void> Program::lower_node(const Node& node) {
  const Lowering lowering = find_lowering(node);
  if (lowering == nullptr) {
    return fail(Reason::kUnsupportedOperator, "operator {}{} (node '{}') is not lowered to PyTorch",
                node.domain.empty() ? "" : node.domain + ".", node.op_type, node.name);
  }
  const NodeContext context{node, graph_.opset(), [this, &node](std::size_t index) {
                              return index < node.inputs.size() ? constant_of(node.inputs[index])
                                                                : at::Tensor();
                            }};
  Step step;
  step.name = node.name;
  TOUCHSTONE_ASSIGN(step.call, lowering(context));
  for (const std::string& input : node.inputs) {
    step.inputs.push_back(slot_of(input));
  }
  for (const std::string& output : node.outputs) {
    step.outputs.push_back(slot_of(output));
  }
  steps_.push_back(std::move(step));
  return {};
}

// A weight that linear holds transposed is not needed as it was.
void Program::drop_unused_constants() {
  std::vector<bool> used(slots_.size(), false);
  for (const Step& step : steps_) {
    for (const int slot : step.inputs) {
      if (slot >= 0) {
        used[static_cast<std::size_t>(slot)] = true;
      }
    }
  }
  for (const int slot : output_slots_) {
    used[static_cast<std::size_t>(slot)] = true;
  }
  for (std::size_t slot = 0; slot < used.size(); ++slot) {
    if (!used[slot]) {
      constants_[slot] = at::Tensor();
    }
  }
}

void Program::find_last_uses() {
  std::map<int, std::size_t> last;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    for (const int slot : steps_[i].inputs) {
      last[slot] = i;
    }
    for (const int slot : steps_[i].outputs) {
      last.emplace(slot, i);
    }
  }
  for (const int slot : output_slots_) {
    last.erase(slot);
  }
  for (const auto& [slot, index] : last) {
    if (slot >= 0 && !constants_[static_cast<std::size_t>(slot)].defined()) {
      steps_[index].last_uses.push_back(slot);
    }
  }
}

Tensors Program::run(const Tensors& inputs) const {
  Tensors values = constants_;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values[static_cast<std::size_t>(input_slots_[i])] = inputs[i];
  }
  Tensors arguments;
  for (const Step& step : steps_) {
    arguments.clear();
    for (const int slot : step.inputs) {
      arguments.push_back(slot < 0 ? at::Tensor() : values[static_cast<std::size_t>(slot)]);
    }
    Tensors results;
    try {
      results = step.call.eager(arguments);
    } catch (const std::exception& error) {
      throw std::runtime_error("node '" + step.name + "': " + error.what());
    }
    for (std::size_t i = 0; i < step.outputs.size() && i < results.size(); ++i) {
      if (step.outputs[i] >= 0) {
        values[static_cast<std::size_t>(step.outputs[i])] = std::move(results[i]);
      }
    }
    arguments.clear();
    for (const int slot : step.last_uses) {
      values[static_cast<std::size_t>(slot)] = at::Tensor();
    }
  }
  Tensors outputs;
  for (const int slot : output_slots_) {
    outputs.push_back(values[static_cast<std::size_t>(slot)].contiguous());
  }
  return outputs;
}

}  // namespace touchstone::pytorch
