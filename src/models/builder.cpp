// SPDX-License-Identifier: Apache-2.0
#include "models/builder.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/bundle.h"

namespace touchstone {
namespace {

std::vector<Dimension> symbolic(const std::vector<std::string>& dimensions) {
  std::vector<Dimension> shape;
  for (const std::string& dimension : dimensions) {
    const bool number = !dimension.empty() && dimension.find_first_not_of("0123456789") == std::string::npos;
    shape.push_back(number ? Dimension{std::stoll(dimension), ""} : Dimension{std::nullopt, dimension});
  }
  return shape;
}

}  // namespace

GraphBuilder::GraphBuilder(std::string name, Form form) : form_(form) {
  model_.graph.name = std::move(name);
  model_.graph.opsets[""] = form == Form::kFused ? 20 : 17;
  if (form == Form::kFused) {
    model_.graph.opsets["touchstone"] = 1;
  }
}

void GraphBuilder::input(const std::string& name, DataType type, const std::vector<std::string>& dimensions) {
  model_.graph.inputs.push_back({name, type, symbolic(dimensions)});
}

void GraphBuilder::draws_below(const std::string& input, std::int64_t limit) {
  model_.drawn_below[input] = limit;
}

void GraphBuilder::output(const std::string& name, DataType type,
                          const std::vector<std::string>& dimensions) {
  model_.graph.outputs.push_back({name, type, symbolic(dimensions)});
}

std::string GraphBuilder::weight(const std::string& name, std::vector<std::int64_t> shape, float mean,
                                 float deviation) {
  model_.weights.push_back({name, std::move(shape), mean, deviation});
  return name;
}

std::string GraphBuilder::weight(WeightSpec spec) {
  model_.weights.push_back(std::move(spec));
  return model_.weights.back().name;
}

std::string GraphBuilder::constant(const std::string& name, const std::vector<std::int64_t>& values) {
  return constant_of_shape(name, {static_cast<std::int64_t>(values.size())}, values);
}

std::string GraphBuilder::constant_of_shape(const std::string& name, std::vector<std::int64_t> shape,
                                            const std::vector<std::int64_t>& values) {
  model_.graph.initializers[name] =
      make_constant<std::int64_t>(DataType::kInt64, std::move(shape), std::span(values));
  return name;
}

std::string GraphBuilder::scalar_int(const std::string& name, std::int64_t value) {
  model_.graph.initializers[name] = make_constant<std::int64_t>(DataType::kInt64, {}, std::span(&value, 1));
  return name;
}

std::string GraphBuilder::scalar(const std::string& name, float value) {
  model_.graph.initializers[name] =
      make_constant<float>(DataType::kFloat, {}, std::span<const float>(&value, 1));
  return name;
}

std::string GraphBuilder::node(const std::string& op_type, const std::string& name,
                               std::vector<std::string> inputs, std::map<std::string, Attribute> attributes,
                               const std::string& domain) {
  Node node;
  node.name = name;
  node.op_type = op_type;
  node.domain = domain;
  node.inputs = std::move(inputs);
  node.outputs = {name};
  node.attributes = std::move(attributes);
  model_.graph.nodes.push_back(std::move(node));
  return name;
}

bool GraphBuilder::made(const std::string& value) const {
  return std::any_of(model_.graph.nodes.begin(), model_.graph.nodes.end(),
                     [&](const Node& node) { return node.outputs.front() == value; });
}

void GraphBuilder::node_with_outputs(const std::string& op_type, const std::string& name,
                                     std::vector<std::string> inputs, std::vector<std::string> outputs,
                                     std::map<std::string, Attribute> attributes) {
  node(op_type, name, std::move(inputs), std::move(attributes));
  model_.graph.nodes.back().outputs = std::move(outputs);
}

std::string GraphBuilder::table(const std::string& name, std::vector<std::int64_t> shape,
                                const std::vector<float>& values) {
  model_.graph.initializers[name] =
      make_constant<float>(DataType::kFloat, std::move(shape), std::span<const float>(values));
  return name;
}

void GraphBuilder::rename_last_output(const std::string& to) {
  model_.graph.nodes.back().outputs.front() = to;
}

void GraphBuilder::shape_is(const std::string& value, const std::vector<std::string>& dimensions) {
  model_.graph.values[value] = {value, DataType::kFloat, symbolic(dimensions)};
}

std::string GraphBuilder::linear(const std::string& scope, const std::string& x, std::int64_t in,
                                 std::int64_t out, float deviation, float bias_deviation) {
  const std::string product = linear_without_bias(scope, x, in, out, deviation);
  return node("Add", scope + "/Add", {product, weight(scope + ".bias", {out}, 0, bias_deviation)});
}

std::string GraphBuilder::linear_without_bias(const std::string& scope, const std::string& x, std::int64_t in,
                                              std::int64_t out, float deviation) {
  const std::string kernel = weight(
      {.name = scope + ".weight", .shape = {in, out}, .mean = 0, .deviation = deviation, .transposed = true});
  return node("MatMul", scope + "/MatMul", {x, kernel});
}

std::string GraphBuilder::projection(const std::string& scope, const std::string& x, std::int64_t in,
                                     std::int64_t out, float deviation, float bias_deviation) {
  const std::string kernel = weight(scope + ".weight", {in, out}, 0, deviation);
  const std::string bias = weight(scope + ".bias", {out}, 0, bias_deviation);
  return node("Add", scope + "/Add", {node("MatMul", scope + "/MatMul", {x, kernel}), bias});
}

std::string GraphBuilder::layer_norm(const std::string& scope, const std::string& x, std::int64_t width,
                                     float epsilon) {
  const std::string gain = weight(scope + ".weight", {width}, 1, 0.02F);
  const std::string bias = weight(scope + ".bias", {width}, 0, 0.02F);
  return node("LayerNormalization", scope + "/LayerNormalization", {x, gain, bias},
              {{"axis", {std::int64_t{-1}}}, {"epsilon", {epsilon}}});
}

std::string GraphBuilder::gelu(const std::string& scope, const std::string& x) {
  if (form_ == Form::kFused) {
    return node("Gelu", scope + "/Gelu", {x}, {{"approximate", {std::string("none")}}});
  }
  const std::string root = scalar("gelu/root_two", std::sqrt(2.0F));
  const std::string erf = node("Erf", scope + "/Erf", {node("Div", scope + "/Div", {x, root})});
  const std::string one_more = node("Add", scope + "/Add", {erf, scalar("gelu/one", 1.0F)});
  const std::string product = node("Mul", scope + "/Mul", {x, one_more});
  return node("Mul", scope + "/Mul_1", {product, scalar("gelu/half", 0.5F)});
}

std::string GraphBuilder::gelu_tanh(const std::string& scope, const std::string& x) {
  if (form_ == Form::kFused) {
    return node("Gelu", scope + "/Gelu", {x}, {{"approximate", {std::string("tanh")}}});
  }
  const std::string cube = node("Pow", scope + "/Pow", {x, scalar("gelu/three", 3.0F)});
  const std::string small = node("Mul", scope + "/Mul", {cube, scalar("gelu/cubic", 0.044715F)});
  const std::string sum = node("Add", scope + "/Add", {x, small});
  const float root = std::sqrt(2.0F / std::numbers::pi_v<float>);
  const std::string scaled = node("Mul", scope + "/Mul_1", {sum, scalar("gelu/root_two_by_pi", root)});
  const std::string one_more =
      node("Add", scope + "/Add_1", {node("Tanh", scope + "/Tanh", {scaled}), scalar("gelu/one", 1.0F)});
  const std::string half = node("Mul", scope + "/Mul_2", {x, scalar("gelu/half", 0.5F)});
  return node("Mul", scope + "/Mul_3", {half, one_more});
}

std::string GraphBuilder::silu(const std::string& scope, const std::string& x) {
  return node("Mul", scope + "/Mul", {x, node("Sigmoid", scope + "/Sigmoid", {x})});
}

std::string GraphBuilder::rms_norm(const std::string& scope, const std::string& x, std::int64_t width,
                                   float epsilon) {
  const std::string gain = weight(scope + ".weight", {width}, 1, 0.02F);
  if (form_ == Form::kFused) {
    model_.graph.opsets[""] = 23;  // the first with RMSNormalization
    return node("RMSNormalization", scope + "/RMSNormalization", {x, gain},
                {{"axis", {std::int64_t{-1}}}, {"epsilon", {epsilon}}});
  }
  const std::string square = node("Pow", scope + "/Pow", {x, scalar("rms/two", 2.0F)});
  const std::string mean = node("ReduceMean", scope + "/ReduceMean", {square},
                                {{"axes", {std::vector<std::int64_t>{-1}}}, {"keepdims", {std::int64_t{1}}}});
  const std::string root = node("Sqrt", scope + "/Sqrt",
                                {node("Add", scope + "/Add", {mean, scalar(scope + "/epsilon", epsilon)})});
  return node("Mul", scope + "/Mul", {node("Div", scope + "/Div", {x, root}), gain});
}

std::string GraphBuilder::convolution(const std::string& scope, const std::string& x,
                                      const Convolution& shape) {
  const auto fan = static_cast<float>((shape.by_fan_in ? shape.in : shape.out) * shape.kernel * shape.kernel);
  std::vector<std::string> inputs = {
      x,
      weight(scope + ".weight", {shape.out, shape.in, shape.kernel, shape.kernel}, 0, std::sqrt(2.0F / fan))};
  if (shape.bias) {
    inputs.push_back(weight(scope + ".bias", {shape.out}, 0, 0.02F));
  }
  using Ints = std::vector<std::int64_t>;
  return node("Conv", scope + "/Conv", std::move(inputs),
              {{"kernel_shape", {Ints(2, shape.kernel)}},
               {"strides", {Ints(2, shape.stride)}},
               {"pads", {Ints(4, (shape.kernel - 1) / 2)}}});
}

std::string GraphBuilder::batch_norm(const std::string& scope, const std::string& x, std::int64_t channels,
                                     float gain) {
  const auto vector = [&](const std::string& name, float mean, bool buffer) {
    return weight(
        {.name = scope + name, .shape = {channels}, .mean = mean, .deviation = 0.02F, .buffer = buffer});
  };
  return node("BatchNormalization", scope + "/BatchNormalization",
              {x, vector(".weight", gain, false), vector(".bias", 0, false), vector(".running_mean", 0, true),
               vector(".running_var", 1, true)},
              {{"epsilon", {1e-5F}}});
}

std::string GraphBuilder::relu(const std::string& scope, const std::string& x) {
  return node("Relu", scope + "/Relu", {x});
}

std::string GraphBuilder::attention(const std::string& scope, const std::string& q,
                                    const std::string& k_transposed, const std::string& v,
                                    const std::string& mask, std::int64_t head_size) {
  const float root = std::sqrt(static_cast<float>(head_size));
  if (form_ == Form::kFused) {
    std::vector<std::string> inputs = {q, k_transposed, v};
    if (!mask.empty()) {
      inputs.push_back(mask);
    }
    return node("ScaledDotProductAttention", scope + "/Attention", std::move(inputs),
                {{"scale", {1.0F / root}}}, "touchstone");
  }
  const std::string scores =
      node("Div", scope + "/Div",
           {node("MatMul", scope + "/MatMul", {q, k_transposed}), scalar("attention/root", root)});
  const std::string masked = mask.empty() ? scores : node("Add", scope + "/Add", {scores, mask});
  const std::string weights = node("Softmax", scope + "/Softmax", {masked}, {{"axis", {std::int64_t{-1}}}});
  return node("MatMul", scope + "/MatMul_1", {weights, v});
}

ModelDefinition GraphBuilder::finish() && {
  return std::move(model_);
}

}  // namespace touchstone
