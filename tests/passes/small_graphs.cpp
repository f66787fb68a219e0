// SPDX-License-Identifier: Apache-2.0
#include "small_graphs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "graph/bundle.h"
#include "graph/onnx/onnx_io.h"
#include "reference/interpreter.h"

namespace touchstone {
namespace {

std::vector<Dimension> dimensions(const std::vector<std::string>& shape) {
  std::vector<Dimension> result;
  for (const std::string& word : shape) {
    const bool number = word.find_first_not_of("0123456789") == std::string::npos;
    result.push_back(number ? Dimension{std::stoll(word), ""} : Dimension{std::nullopt, word});
  }
  return result;
}

Value random_value(const ValueInfo& info, const std::map<std::string, std::int64_t>& sizes) {
  const auto shape = concrete_shape(*info.shape, sizes);
  REQUIRE(shape);
  InputRule rule;
  rule.name = info.name;
  rule.type = info.type;
  rule.shape = *info.shape;
  rule.kind = info.type == DataType::kFloat                 ? InputRule::Kind::kNormal
              : info.name.find("mask") != std::string::npos ? InputRule::Kind::kMask
                                                            : InputRule::Kind::kIntegers;
  rule.high = info.type == DataType::kFloat ? 1 : 2;
  std::vector<std::byte> bytes(byte_size(info.type, element_count(*shape)));
  REQUIRE(fill_input(rule, 7, true, {info.type, *shape, bytes}));
  auto value = Value::from_bytes(info.type, *shape, bytes);
  REQUIRE(value);
  return *value;
}

std::vector<Value> run(const Graph& graph) {
  std::map<std::string, std::int64_t> sizes;
  for (const ValueInfo& input : graph.inputs) {
    for (const Dimension& dimension : *input.shape) {
      if (!dimension.value) {
        sizes[dimension.symbol] = dimension.symbol == "batch" ? 2 : 5;
      }
    }
  }
  std::map<std::string, Value> inputs;
  for (const ValueInfo& input : graph.inputs) {
    inputs[input.name] = random_value(input, sizes);
  }
  auto interpreter = Interpreter::create(graph, 1);
  REQUIRE_MESSAGE(interpreter, (interpreter ? "" : interpreter.error().message));
  auto outputs = (*interpreter)->run(std::move(inputs));
  REQUIRE_MESSAGE(outputs, (outputs ? "" : outputs.error().message));
  return *outputs;
}

}  // namespace

SmallGraph::SmallGraph(int opset, const std::vector<std::string>& shape) {
  graph_.name = "small";
  graph_.opsets[""] = opset;
  input("x", shape);
}

std::string SmallGraph::input(const std::string& name, const std::vector<std::string>& shape) {
  graph_.inputs.push_back({name, DataType::kFloat, dimensions(shape)});
  return name;
}

std::string SmallGraph::node(const std::string& op_type, std::vector<std::string> inputs,
                             std::map<std::string, Attribute> attributes) {
  Node node;
  node.op_type = op_type;
  node.name = op_type + "_" + std::to_string(count_++);
  node.inputs = std::move(inputs);
  node.outputs = {node.name};
  node.attributes = std::move(attributes);
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().outputs[0];
}

std::string SmallGraph::scalar(float value) {
  const std::string name = "scalar_" + std::to_string(count_++);
  graph_.initializers[name] = make_constant<float>(DataType::kFloat, {}, std::span<const float>(&value, 1));
  return name;
}

std::string SmallGraph::row(std::int64_t size, float mean) {
  std::vector<float> values(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = mean + 0.1F * static_cast<float>(i % 5);
  }
  const std::string name = "row_" + std::to_string(count_++);
  graph_.initializers[name] = make_constant<float>(DataType::kFloat, {size}, std::span<const float>(values));
  return name;
}

std::string SmallGraph::matrix(std::int64_t rows, std::int64_t columns, float mean) {
  const std::string name = row(rows * columns, mean);
  graph_.initializers[name].shape = {rows, columns};
  return name;
}

std::string SmallGraph::mean(const std::string& value, std::int64_t axis) {
  if (graph_.opset() < 18) {
    return node("ReduceMean", {value}, {{"axes", {std::vector<std::int64_t>{axis}}}});
  }
  const std::string name = "axes_" + std::to_string(count_++);
  graph_.initializers[name] =
      make_constant<std::int64_t>(DataType::kInt64, {1}, std::span<const std::int64_t>(&axis, 1));
  return node("ReduceMean", {value, name});
}

std::string SmallGraph::layer_norm(const std::string& x, std::int64_t axis) {
  const std::string centred = node("Sub", {x, mean(x, axis)});
  const std::string variance = mean(node("Pow", {centred, scalar(2)}), axis);
  const std::string deviation = node("Sqrt", {node("Add", {variance, scalar(1e-5F)})});
  return node("Add", {node("Mul", {node("Div", {centred, deviation}), row(8, 1)}), row(8, 0)});
}

std::string SmallGraph::gelu(const std::string& x) {
  const std::string erf = node("Erf", {node("Div", {x, scalar(std::sqrt(2.0F))})});
  return node("Mul", {node("Mul", {x, node("Add", {erf, scalar(1)})}), scalar(0.5F)});
}

void SmallGraph::also_output(const std::string& value) {
  graph_.outputs.push_back({value, DataType::kFloat, std::nullopt});
}

Graph SmallGraph::finish() && {
  graph_.nodes.back().outputs = {"y"};
  graph_.outputs.push_back({"y", DataType::kFloat, std::nullopt});
  auto inferred = infer_shapes(std::move(graph_));
  REQUIRE_MESSAGE(inferred, (inferred ? "" : inferred.error().message));
  return *inferred;
}

std::size_t count(const Graph& graph, const std::string& op_type) {
  return static_cast<std::size_t>(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                                [&](const Node& node) { return node.op_type == op_type; }));
}

double difference(const Graph& a, const Graph& b) {
  const auto first = run(a);
  const auto second = run(b);
  REQUIRE(first.size() == second.size());
  double largest = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    REQUIRE(first[i].shape() == second[i].shape());
    for (std::size_t j = 0; j < first[i].size(); ++j) {
      largest = std::max(largest, std::abs(first[i].d()[j] - second[i].d()[j]));
    }
  }
  return largest;
}

}  // namespace touchstone
