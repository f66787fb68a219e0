// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/flops.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace touchstone {
namespace {

using Count = std::uint64_t;
using Shapes = std::vector<Shape>;
using Counter = Count (*)(const Node&, const Shapes&, const Shapes&);

Count elements(const Shape& shape) {
  return element_count(shape);
}

Count extent(const Shape& shape, std::size_t axis) {
  return axis < shape.size() ? static_cast<Count>(shape[axis]) : 0;
}

bool present(const Shapes& inputs, std::size_t index) {
  return index < inputs.size() && inputs[index] != Shape{0};
}

Count matmul(const Node&, const Shapes& inputs, const Shapes& outputs) {
  return inputs.at(0).empty() ? 0 : 2 * elements(outputs[0]) * extent(inputs[0], inputs[0].size() - 1);
}

Count gemm(const Node& node, const Shapes& inputs, const Shapes& outputs) {
  const Count inner = extent(inputs.at(0), node.int_attribute("transA", 0) != 0 ? 0 : 1);
  return 2 * elements(outputs[0]) * inner + (present(inputs, 2) ? elements(outputs[0]) : 0);
}

// The kernel is [out channels, in channels / group, …]: the products behind one output are its row.
Count convolution(const Shape& kernel, const Shapes& outputs, bool bias) {
  const Count per_output = kernel.empty() || kernel[0] == 0 ? 0 : elements(kernel) / extent(kernel, 0);
  return 2 * elements(outputs[0]) * per_output + (bias ? elements(outputs[0]) : 0);
}

Count conv(const Node&, const Shapes& inputs, const Shapes& outputs) {
  return convolution(inputs.at(1), outputs, present(inputs, 2));
}

Count conv_integer(const Node&, const Shapes& inputs, const Shapes& outputs) {
  return convolution(inputs.at(1), outputs, false);
}

Count quantized_conv(const Node&, const Shapes& inputs, const Shapes& outputs) {
  return convolution(inputs.at(3), outputs, present(inputs, 8));
}

// The kernel is [in channels, out channels / group, …]: every input element meets its row.
Count transposed_conv(const Node&, const Shapes& inputs, const Shapes& outputs) {
  const Shape& kernel = inputs.at(1);
  const Count per_input = kernel.empty() || kernel[0] == 0 ? 0 : elements(kernel) / extent(kernel, 0);
  return 2 * elements(inputs[0]) * per_input + (present(inputs, 2) ? elements(outputs[0]) : 0);
}

// Every distinct index once, times a multiplication an operand and an addition.
Count einsum(const Node& node, const Shapes& inputs, const Shapes&) {
  const std::string equation = node.string_attribute("equation", "");
  const std::string left = equation.substr(0, equation.find("->"));
  std::map<std::string, Count> extents;
  std::size_t operand = 0;
  std::size_t axis = 0;
  for (std::size_t i = 0; i < left.size() && operand < inputs.size(); ++i) {
    if (left[i] == ',') {
      ++operand;
      axis = 0;
    } else if (left[i] == '.') {  // an ellipsis stands for the axes that have no letter
      i += 2;
      const std::size_t end = std::min(left.find(',', i), left.size());
      const auto after =
          static_cast<std::size_t>(std::count_if(left.begin() + static_cast<long>(std::min(i + 1, end)),
                                                 left.begin() + static_cast<long>(end), ::isalpha));
      for (std::size_t k = 0; axis + after < inputs[operand].size(); ++k, ++axis) {
        Count& known = extents["." + std::to_string(inputs[operand].size() - after - axis)];
        known = std::max(known, extent(inputs[operand], axis));
      }
    } else if (left[i] != ' ') {
      Count& known = extents[std::string(1, left[i])];
      known = std::max(known, extent(inputs[operand], axis++));
    }
  }
  Count total = 1;
  for (const auto& [letter, size] : extents) {
    total *= size;
  }
  return total * std::max<Count>(1, inputs.size());
}

// q·kᵀ and the product with v are 2 each a multiply-add; scale and mask 2, softmax 5 a score.
Count attention(Count batch_heads, Count queries, Count keys, Count head, Count value_head) {
  return batch_heads * queries * keys * (2 * head + 2 * value_head + 7);
}

// touchstone's composite: q [b, h, s, d], k transposed [b, h, d, t], v [b, h, t, e].
Count composite_attention(const Node&, const Shapes& inputs, const Shapes& outputs) {
  const Shape& q = inputs.at(0);
  return q.size() < 2
             ? 0
             : attention(elements(q) / std::max<Count>(1, extent(q, q.size() - 1) * extent(q, q.size() - 2)),
                         extent(q, q.size() - 2), extent(inputs.at(1), inputs[1].size() - 1),
                         extent(q, q.size() - 1), extent(outputs[0], outputs[0].size() - 1));
}

// ONNX's Attention (opset 23): [b, h, s, d], or [b, s, h·d] with the heads in attributes; a past goes before
// k.
Count onnx_attention(const Node& node, const Shapes& inputs, const Shapes&) {
  const Shape& q = inputs.at(0);
  const Shape& k = inputs.at(1);
  const Shape& v = inputs.at(2);
  const Count past = present(inputs, 4) ? extent(inputs[4], 2) : 0;
  if (q.size() == 4) {
    return attention(extent(q, 0) * extent(q, 1), extent(q, 2), extent(k, 2) + past, extent(q, 3),
                     extent(v, 3));
  }
  const auto heads = static_cast<Count>(std::max<std::int64_t>(1, node.int_attribute("q_num_heads", 1)));
  const auto kv_heads = static_cast<Count>(std::max<std::int64_t>(1, node.int_attribute("kv_num_heads", 1)));
  return attention(extent(q, 0) * heads, extent(q, 1), extent(k, 1) + past, extent(q, 2) / heads,
                   extent(v, 2) / kv_heads);
}

// Gates × hidden × (input + hidden) multiply-adds a step, direction and row; about 10 operations an element
// of the state for the gates' functions.
Count recurrent(const Shapes& inputs, Count gates) {
  const Shape& x = inputs.at(0);
  const Shape& w = inputs.at(1);  // [directions, gates · hidden, input]
  const Count hidden = extent(w, 1) / gates;
  return extent(x, 0) * extent(x, 1) * extent(w, 0) *
         (2 * gates * hidden * (extent(w, 2) + hidden) + 10 * hidden);
}

Count lstm(const Node&, const Shapes& inputs, const Shapes&) {
  return recurrent(inputs, 4);
}

Count gru(const Node&, const Shapes& inputs, const Shapes&) {
  return recurrent(inputs, 3);
}

Count rnn(const Node&, const Shapes& inputs, const Shapes&) {
  return recurrent(inputs, 1);
}

Count pool(const Node& node, const Shapes&, const Shapes& outputs) {
  Count window = 1;
  for (const std::int64_t side : node.ints_attribute("kernel_shape")) {
    window *= static_cast<Count>(side);
  }
  return elements(outputs[0]) * window;
}

Count by_input(const Node&, const Shapes& inputs, const Shapes&) {
  return elements(inputs.at(0));
}

Count gelu(const Node& node, const Shapes&, const Shapes& outputs) {
  return elements(outputs[0]) * (node.string_attribute("approximate", "none") == "tanh" ? 9 : 5);
}

template <Count kEach>
Count each(const Node&, const Shapes&, const Shapes& outputs) {
  return kEach * elements(outputs[0]);
}

Count variadic(const Node&, const Shapes& inputs, const Shapes& outputs) {
  return elements(outputs[0]) * (std::max<Count>(2, inputs.size()) - 1);
}

const std::map<std::string, Counter>& counters() {
  static const std::map<std::string, Counter> kCounters = {
      {"MatMul", matmul},
      {"MatMulInteger", matmul},
      {"QLinearMatMul", matmul},
      {"Gemm", gemm},
      {"Conv", conv},
      {"ConvInteger", conv_integer},
      {"QLinearConv", quantized_conv},
      {"ConvTranspose", transposed_conv},
      {"Einsum", einsum},
      {"Attention", onnx_attention},
      {"touchstone.ScaledDotProductAttention", composite_attention},
      {"LSTM", lstm},
      {"GRU", gru},
      {"RNN", rnn},
      {"AveragePool", pool},
      {"MaxPool", pool},
      {"LpPool", pool},
      {"GlobalAveragePool", by_input},
      {"GlobalMaxPool", by_input},
      {"ArgMax", by_input},
      {"ArgMin", by_input},
      {"CumSum", by_input},
      {"Softmax", each<5>},
      {"LogSoftmax", each<5>},
      {"Hardmax", by_input},
      {"LayerNormalization", each<7>},
      {"InstanceNormalization", each<7>},
      {"GroupNormalization", each<7>},
      {"BatchNormalization", each<2>},
      {"RMSNormalization", each<4>},
      {"Gelu", gelu},
      {"Sum", variadic},
      {"Mean", variadic},
      {"Min", variadic},
      {"Max", variadic},
  };
  return kCounters;
}

bool only_moves_data(const std::string& op) {
  static const std::set<std::string> kMovers = {
      "Cast",           "CastLike", "Compress",        "Concat",       "Constant",        "ConstantOfShape",
      "DepthToSpace",   "Dropout",  "Expand",          "EyeLike",      "Flatten",         "Gather",
      "GatherElements", "GatherND", "Identity",        "NonZero",      "OneHot",          "Pad",
      "Range",          "Reshape",  "ReverseSequence", "Scatter",      "ScatterElements", "ScatterND",
      "Shape",          "Size",     "Slice",           "SpaceToDepth", "Split",           "Squeeze",
      "Tile",           "TopK",     "Transpose",       "Trilu",        "Unique",          "Unsqueeze",
      "Upsample",       "Where"};
  return kMovers.contains(op);
}

}  // namespace

std::uint64_t flops_of(const Node& node, const Shapes& inputs, const Shapes& outputs) {
  const std::string op = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
  if (outputs.empty() || only_moves_data(op)) {
    return 0;
  }
  if (const auto found = counters().find(op); found != counters().end()) {
    const bool long_enough = inputs.size() >= (op == "QLinearConv" ? 4U : op == "Attention" ? 3U : 1U);
    const bool two = op.find("MatMul") != std::string::npos || op.find("Conv") != std::string::npos ||
                     op == "LSTM" || op == "GRU" || op == "RNN" || op.starts_with("touchstone.");
    return long_enough && inputs.size() >= (two ? 2U : 1U) ? found->second(node, inputs, outputs) : 0;
  }
  if (op.starts_with("Reduce") && !inputs.empty()) {
    return elements(inputs[0]);
  }
  return elements(outputs[0]);
}

}  // namespace touchstone
