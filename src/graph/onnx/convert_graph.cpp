// SPDX-License-Identifier: Apache-2.0
// Nodes, values and attributes, both ways.
#include <algorithm>

#include "graph/onnx/convert.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using onnx::AttributeProto;

// A tensor's data is dropped from the message once it is read, so that weights are never held twice.
Result<Constant> take_constant(onnx::TensorProto& proto, const fs::path& folder) {
  auto constant = constant_from(proto, folder);
  const std::string name = proto.name();
  proto.Clear();
  proto.set_name(name);
  return constant;
}

Result<Attribute> attribute_from(AttributeProto& proto, const Node& node, const fs::path& folder) {
  switch (proto.type()) {
    case AttributeProto::FLOAT:
      return Attribute{proto.f()};
    case AttributeProto::INT:
      return Attribute{std::int64_t{proto.i()}};
    case AttributeProto::STRING:
      return Attribute{proto.s()};
    case AttributeProto::FLOATS:
      return Attribute{std::vector<float>(proto.floats().begin(), proto.floats().end())};
    case AttributeProto::INTS:
      return Attribute{std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end())};
    case AttributeProto::STRINGS:
      return Attribute{std::vector<std::string>(proto.strings().begin(), proto.strings().end())};
    case AttributeProto::TENSOR: {
      TOUCHSTONE_ASSIGN(Constant constant, take_constant(*proto.mutable_t(), folder));
      return Attribute{std::move(constant)};
    }
    case AttributeProto::GRAPH: {
      TOUCHSTONE_ASSIGN(Graph inner, take_graph(*proto.mutable_g(), folder));
      return Attribute{std::make_shared<Graph>(std::move(inner))};
    }
    default:
      return fail(Reason::kUnsupported,
                  "node '{}' ({}): attribute '{}' is of a kind that Touchstone does not read", node.name,
                  node.op_type, proto.name());
  }
}

Result<Node> node_from(onnx::NodeProto& proto, const fs::path& folder) {
  Node node;
  node.name = proto.name();
  node.op_type = proto.op_type();
  node.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  if (node.name.empty()) {
    const auto named =
        std::find_if(node.outputs.begin(), node.outputs.end(), [](const auto& o) { return !o.empty(); });
    node.name = node.op_type + ":" + (named == node.outputs.end() ? "" : *named);
  }
  for (AttributeProto& attribute : *proto.mutable_attribute()) {
    TOUCHSTONE_ASSIGN(Attribute read, attribute_from(attribute, node, folder));
    node.attributes.emplace(attribute.name(), std::move(read));
  }
  return node;
}

void fill(onnx::TensorProto& proto, const std::string& name, const Constant& constant,
          const WriteOptions& options) {
  proto.set_name(name);
  proto.set_data_type(static_cast<int>(constant.type));
  for (const std::int64_t dimension : constant.shape) {
    proto.add_dims(dimension);
  }
  if (constant.type == DataType::kString) {
    for (const std::string& text : constant.strings) {
      proto.add_string_data(text);
    }
  } else if (constant.owned && constant.size <= options.largest_embedded) {
    proto.set_raw_data(constant.owned->data(), constant.owned->size());
  } else {
    proto.set_data_location(onnx::TensorProto::EXTERNAL);
    const auto add = [&](const char* key, const std::string& value) {
      auto* entry = proto.add_external_data();
      entry->set_key(key);
      entry->set_value(value);
    };
    add("location", fs::path(constant.file).is_absolute()
                        ? fs::path(constant.file).lexically_relative(options.folder).string()
                        : constant.file);
    add("offset", std::to_string(constant.offset));
    add("length", std::to_string(constant.size));
  }
}

void fill(onnx::ValueInfoProto& proto, const ValueInfo& value) {
  proto.set_name(value.name);
  auto* tensor = proto.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(static_cast<int>(value.type));
  if (!value.shape) {
    return;
  }
  tensor->mutable_shape();
  for (const Dimension& dimension : *value.shape) {
    auto* made = tensor->mutable_shape()->add_dim();
    if (dimension.value) {
      made->set_dim_value(*dimension.value);
    } else if (!dimension.symbol.empty()) {
      made->set_dim_param(dimension.symbol);
    }
  }
}

struct AttributeWriter {
  AttributeProto& proto;
  const WriteOptions& options;

  void operator()(std::int64_t value) const {
    proto.set_type(AttributeProto::INT);
    proto.set_i(value);
  }
  void operator()(float value) const {
    proto.set_type(AttributeProto::FLOAT);
    proto.set_f(value);
  }
  void operator()(const std::string& value) const {
    proto.set_type(AttributeProto::STRING);
    proto.set_s(value);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    proto.set_type(AttributeProto::INTS);
    proto.mutable_ints()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<float>& values) const {
    proto.set_type(AttributeProto::FLOATS);
    proto.mutable_floats()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<std::string>& values) const {
    proto.set_type(AttributeProto::STRINGS);
    for (const std::string& value : values) {
      proto.add_strings(value);
    }
  }
  void operator()(const Constant& value) const {
    proto.set_type(AttributeProto::TENSOR);
    fill(*proto.mutable_t(), "", value, options);
  }
  void operator()(const std::shared_ptr<Graph>& value) const {
    proto.set_type(AttributeProto::GRAPH);
    touchstone::fill(*proto.mutable_g(), *value, options);
  }
};

void fill(onnx::NodeProto& proto, const Node& node, const WriteOptions& options) {
  proto.set_name(node.name);
  proto.set_op_type(node.op_type);
  proto.set_domain(node.domain);
  for (const std::string& input : node.inputs) {
    proto.add_input(input);
  }
  for (const std::string& output : node.outputs) {
    proto.add_output(output);
  }
  for (const auto& [name, attribute] : node.attributes) {
    auto* made = proto.add_attribute();
    made->set_name(name);
    std::visit(AttributeWriter{*made, options}, attribute.value);
  }
}

}  // namespace

ValueInfo value_from(const onnx::ValueInfoProto& proto) {
  ValueInfo value;
  value.name = proto.name();
  const auto& tensor = proto.type().tensor_type();
  value.type = static_cast<DataType>(tensor.elem_type());
  if (tensor.has_shape()) {
    value.shape.emplace();
    for (const auto& dimension : tensor.shape().dim()) {
      value.shape->push_back(dimension.has_dim_value() ? Dimension{dimension.dim_value(), ""}
                                                       : Dimension{std::nullopt, dimension.dim_param()});
    }
  }
  return value;
}

Result<Graph> take_graph(onnx::GraphProto& proto, const fs::path& folder) {
  Graph graph;
  graph.name = proto.name();
  for (onnx::TensorProto& tensor : *proto.mutable_initializer()) {
    TOUCHSTONE_ASSIGN(Constant constant, take_constant(tensor, folder));
    graph.initializers.emplace(tensor.name(), std::move(constant));
  }
  for (const onnx::SparseTensorProto& tensor : proto.sparse_initializer()) {
    TOUCHSTONE_ASSIGN(Constant constant, constant_from(tensor, folder));
    graph.initializers.emplace(tensor.values().name(), std::move(constant));
  }
  for (const onnx::ValueInfoProto& input : proto.input()) {
    if (!graph.initializers.contains(input.name())) {
      graph.inputs.push_back(value_from(input));
    }
  }
  for (const onnx::ValueInfoProto& output : proto.output()) {
    graph.outputs.push_back(value_from(output));
  }
  for (const onnx::ValueInfoProto& value : proto.value_info()) {
    graph.values.emplace(value.name(), value_from(value));
  }
  for (onnx::NodeProto& node : *proto.mutable_node()) {
    TOUCHSTONE_ASSIGN(Node read, node_from(node, folder));
    graph.nodes.push_back(std::move(read));
  }
  return graph;
}

void fill(onnx::GraphProto& proto, const Graph& graph, const WriteOptions& options) {
  proto.set_name(graph.name.empty() ? "graph" : graph.name);
  for (const ValueInfo& input : graph.inputs) {
    fill(*proto.add_input(), input);
  }
  for (const ValueInfo& output : graph.outputs) {
    fill(*proto.add_output(), output);
  }
  for (const auto& [name, constant] : graph.initializers) {
    fill(*proto.add_initializer(), name, constant, options);
  }
  for (const Node& node : graph.nodes) {
    fill(*proto.add_node(), node, options);
  }
  if (options.with_values) {
    for (const auto& [name, value] : graph.values) {
      fill(*proto.add_value_info(), value);
    }
  }
}

}  // namespace touchstone
