// SPDX-License-Identifier: Apache-2.0
#include "models/builder.h"

#include <cmath>

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

void GraphBuilder::output(const std::string& name, DataType type,
                          const std::vector<std::string>& dimensions) {
  model_.graph.outputs.push_back({name, type, symbolic(dimensions)});
}

std::string GraphBuilder::weight(const std::string& name, std::vector<std::int64_t> shape, float mean,
                                 float deviation) {
  model_.weights.push_back({name, std::move(shape), mean, deviation});
  return name;
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

void GraphBuilder::rename_last_output(const std::string& to) {
  model_.graph.nodes.back().outputs.front() = to;
}

void GraphBuilder::shape_is(const std::string& value, const std::vector<std::string>& dimensions) {
  model_.graph.values[value] = {value, DataType::kFloat, symbolic(dimensions)};
}

std::string GraphBuilder::linear(const std::string& scope, const std::string& x, std::int64_t in,
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

std::string GraphBuilder::attention(const std::string& scope, const std::string& q,
                                    const std::string& k_transposed, const std::string& v,
                                    const std::string& mask, std::int64_t head_size) {
  const float root = std::sqrt(static_cast<float>(head_size));
  if (form_ == Form::kFused) {
    return node("ScaledDotProductAttention", scope + "/Attention", {q, k_transposed, v, mask},
                {{"scale", {1.0F / root}}}, "touchstone");
  }
  const std::string scores =
      node("Div", scope + "/Div",
           {node("MatMul", scope + "/MatMul", {q, k_transposed}), scalar("attention/root", root)});
  const std::string masked = node("Add", scope + "/Add", {scores, mask});
  const std::string weights = node("Softmax", scope + "/Softmax", {masked}, {{"axis", {std::int64_t{-1}}}});
  return node("MatMul", scope + "/MatMul_1", {weights, v});
}

ModelDefinition GraphBuilder::finish() && {
  return std::move(model_);
}

}  // namespace touchstone
