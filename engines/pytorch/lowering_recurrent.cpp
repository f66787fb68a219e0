// SPDX-License-Identifier: Apache-2.0
// GRU, LSTM and RNN as the layers that PyTorch's users call. PyTorch orders the gates otherwise than ONNX:
// the weights are rearranged once, when the program is made.
#include <ATen/ops/cat.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/gru.h>
#include <ATen/ops/lstm.h>
#include <ATen/ops/rnn_tanh.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "lowering.h"

namespace touchstone::pytorch {
namespace {

using at::Tensor;

enum class Cell { kRnn, kGru, kLstm };

struct Layer {
  Cell cell;
  std::vector<Tensor> parameters;  // per direction: input, recurrent and their biases
  std::int64_t directions;
  std::int64_t hidden;
  bool biases;
  bool reversed;
};

// ONNX's place of each gate, in PyTorch's order: reset, update, new; in, forget, cell, out.
std::vector<std::int64_t> gate_order(Cell cell) {
  switch (cell) {
    case Cell::kGru:
      return {1, 0, 2};
    case Cell::kLstm:
      return {0, 2, 3, 1};
    default:
      return {0};
  }
}

// `tensor` has gates·hidden rows.
Tensor in_order(const Tensor& tensor, const std::vector<std::int64_t>& order, std::int64_t hidden) {
  std::vector<Tensor> gates;
  for (const std::int64_t gate : order) {
    gates.push_back(tensor.narrow(0, gate * hidden, hidden));
  }
  return at::cat(gates).contiguous();
}

Result<void> check(const NodeContext& c, Cell cell) {
  for (const char* attribute : {"activations", "activation_alpha", "activation_beta", "clip"}) {
    if (c.node.attributes.contains(attribute)) {
      return c.unsupported(fmt::format("its attribute {}", attribute));
    }
  }
  if (c.node.int_attribute("layout", 0) != 0 || c.node.int_attribute("input_forget", 0) != 0) {
    return c.unsupported("layout 1 or coupled gates");
  }
  if (c.has(4) || c.has(7)) {
    return c.unsupported("lengths per row or peepholes");
  }
  if (cell == Cell::kGru && c.node.int_attribute("linear_before_reset", 0) == 0) {
    return c.unsupported("a reset gate before the product");
  }
  for (const std::size_t i : {1, 2, 3}) {
    if (c.has(i) && !c.constant(i).defined()) {
      return c.unsupported("a weight that is computed");
    }
  }
  return {};
}

Layer layer_of(const NodeContext& c, Cell cell) {
  const Tensor input = c.constant(1);
  const Tensor recurrent = c.constant(2);
  Layer layer{cell,          {},
              input.size(0), recurrent.size(2),
              c.has(3),      c.node.string_attribute("direction", "forward") == "reverse"};
  const auto order = gate_order(cell);
  const auto rows = static_cast<std::int64_t>(order.size()) * layer.hidden;
  for (std::int64_t d = 0; d < layer.directions; ++d) {
    layer.parameters.push_back(in_order(input[d], order, layer.hidden));
    layer.parameters.push_back(in_order(recurrent[d], order, layer.hidden));
    if (layer.biases) {
      const Tensor bias = c.constant(3)[d];
      layer.parameters.push_back(in_order(bias.narrow(0, 0, rows), order, layer.hidden));
      layer.parameters.push_back(in_order(bias.narrow(0, rows, rows), order, layer.hidden));
    }
  }
  return layer;
}

Tensors run(const Layer& layer, const Tensors& in) {
  const Tensor x = layer.reversed ? at::flip(in[0], {0}) : in[0];
  const auto state = [&](std::size_t index) {
    return index < in.size() && in[index].defined()
               ? in[index]
               : at::zeros({layer.directions, x.size(1), layer.hidden}, x.options());
  };
  const bool both = layer.directions == 2;
  Tensor y;
  Tensors states;
  if (layer.cell == Cell::kLstm) {
    auto [out, h, c] =
        at::lstm(x, {state(5), state(6)}, layer.parameters, layer.biases, 1, 0, false, both, false);
    y = out;
    states = {h, c};
  } else {
    const auto call =
        layer.cell == Cell::kGru
            ? at::gru(x, state(5), layer.parameters, layer.biases, 1, 0, false, both, false)
            : at::rnn_tanh(x, state(5), layer.parameters, layer.biases, 1, 0, false, both, false);
    y = std::get<0>(call);
    states = {std::get<1>(call)};
  }
  // [steps, batch, directions·hidden] -> [steps, directions, batch, hidden]
  y = y.view({y.size(0), y.size(1), layer.directions, layer.hidden}).transpose(1, 2);
  states.insert(states.begin(), layer.reversed ? at::flip(y, {0}) : y);
  return states;
}

Result<Lowered> recurrent(const NodeContext& c, Cell cell) {
  TOUCHSTONE_TRY(check(c, cell));
  return Lowered{[layer = layer_of(c, cell), outputs = c.node.outputs.size()](const Tensors& in) {
                   Tensors made = run(layer, in);
                   made.resize(std::min(outputs, made.size()));
                   return made;
                 },
                 {}};
}

}  // namespace

const LoweringTable& recurrent_lowerings() {
  using C = const NodeContext&;
  static const LoweringTable kTable = {
      {"RNN", [](C c) { return recurrent(c, Cell::kRnn); }},
      {"GRU", [](C c) { return recurrent(c, Cell::kGru); }},
      {"LSTM", [](C c) { return recurrent(c, Cell::kLstm); }},
  };
  return kTable;
}

}  // namespace touchstone::pytorch
