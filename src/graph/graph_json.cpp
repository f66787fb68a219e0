// SPDX-License-Identifier: Apache-2.0
// graph.json: the graph as text, constants in hexadecimal or as places in files.
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "graph/bundle.h"
#include "graph/json_values.h"

namespace touchstone {
namespace {

using nlohmann::json;

json dimensions_json(const std::vector<Dimension>& shape) {
  json list = json::array();
  for (const Dimension& dimension : shape) {
    list.push_back(dimension.value ? json(*dimension.value) : json(dimension.symbol));
  }
  return list;
}

constexpr std::string_view kHexDigits = "0123456789abcdef";

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    text += kHexDigits[static_cast<unsigned>(byte) >> 4];
    text += kHexDigits[static_cast<unsigned>(byte) & 15U];
  }
  return text;
}

std::vector<std::byte> from_hex(const std::string& text) {
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const auto high = kHexDigits.find(text[i]);
    const auto low = kHexDigits.find(text[i + 1]);
    bytes.push_back(static_cast<std::byte>((high << 4) | low));
  }
  return bytes;
}

// Strings may hold any bytes, and JSON only UTF-8.
json strings_json(const std::vector<std::string>& strings) {
  json list = json::array();
  for (const std::string& text : strings) {
    list.push_back(hex(std::as_bytes(std::span(text))));
  }
  return list;
}

std::string string_from(const json& value) {
  const auto bytes = from_hex(value.get_ref<const std::string&>());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> strings_from(const json& list) {
  std::vector<std::string> strings;
  for (const json& value : list) {
    strings.push_back(string_from(value));
  }
  return strings;
}

json constant_json(const Constant& constant) {
  json made = {{"type", to_string(constant.type)}, {"shape", constant.shape}};
  if (constant.type == DataType::kString) {
    made["strings"] = strings_json(constant.strings);
  } else if (constant.owned) {
    made["data"] = hex(*constant.owned);
  } else {
    made["file"] = constant.file;
    made["offset"] = constant.offset;
    made["size"] = constant.size;
  }
  return made;
}

Constant constant_from(const json& object) {
  Constant constant;
  constant.type = data_type_from_string(object.at("type").get<std::string>()).value_or(DataType::kUndefined);
  constant.shape = object.at("shape").get<std::vector<std::int64_t>>();
  if (object.contains("strings")) {
    constant.strings = strings_from(object["strings"]);
  } else if (object.contains("data")) {
    constant.owned =
        std::make_shared<std::vector<std::byte>>(from_hex(object["data"].get_ref<const std::string&>()));
    constant.size = constant.owned->size();
  } else {
    constant.file = object.at("file").get<std::string>();
    constant.offset = object.at("offset").get<std::uint64_t>();
    constant.size = object.at("size").get<std::uint64_t>();
  }
  return constant;
}

// JSON has no infinities: they are written as text.
json float_json(float value) {
  return std::isfinite(value) ? json(value) : json(fmt::format("{}", value));
}

json floats_json(const std::vector<float>& values) {
  json list = json::array();
  for (const float value : values) {
    list.push_back(float_json(value));
  }
  return list;
}

json attribute_json(const Attribute& attribute) {
  struct Visitor {
    json operator()(std::int64_t value) const { return {{"i", value}}; }
    json operator()(float value) const { return {{"f", float_json(value)}}; }
    json operator()(const std::string& value) const { return {{"s", hex(std::as_bytes(std::span(value)))}}; }
    json operator()(const std::vector<std::int64_t>& value) const { return {{"ints", value}}; }
    json operator()(const std::vector<float>& value) const { return {{"floats", floats_json(value)}}; }
    json operator()(const std::vector<std::string>& value) const {
      return {{"strings", strings_json(value)}};
    }
    json operator()(const Constant& value) const { return {{"tensor", constant_json(value)}}; }
    json operator()(const std::shared_ptr<Graph>& value) const { return {{"graph", to_json(*value)}}; }
  };
  return std::visit(Visitor{}, attribute.value);
}

Graph parse_graph(const json& object);

float float_from(const json& value) {
  return value.is_string() ? std::strtof(value.get_ref<const std::string&>().c_str(), nullptr)
                           : value.get<float>();
}

Attribute attribute_from(const json& object) {
  const auto first = object.get_ref<const json::object_t&>().begin();
  if (object.empty()) {
    throw json::other_error::create(501, "an attribute without a value", &object);
  }
  const auto& [kind, value] = *first;
  if (kind == "i") {
    return {value.get<std::int64_t>()};
  }
  if (kind == "f") {
    return {float_from(value)};
  }
  if (kind == "s") {
    return {string_from(value)};
  }
  if (kind == "ints") {
    return {value.get<std::vector<std::int64_t>>()};
  }
  if (kind == "floats") {
    std::vector<float> values;
    for (const json& element : value) {
      values.push_back(float_from(element));
    }
    return {std::move(values)};
  }
  if (kind == "strings") {
    return {strings_from(value)};
  }
  if (kind == "tensor") {
    return {constant_from(value)};
  }
  return {std::make_shared<Graph>(parse_graph(value))};
}

Graph parse_graph(const json& object) {
  Graph graph;
  graph.name = object.at("name").get<std::string>();
  graph.opsets = object.at("opsets").get<std::map<std::string, int>>();
  for (const auto& value : object.at("inputs")) {
    graph.inputs.push_back(value_from_json(value));
  }
  for (const auto& value : object.at("outputs")) {
    graph.outputs.push_back(value_from_json(value));
  }
  for (const auto& entry : object.at("nodes")) {
    Node node;
    node.name = entry.at("name").get<std::string>();
    node.op_type = entry.at("op").get<std::string>();
    node.domain = entry.value("domain", "");
    node.inputs = entry.at("inputs").get<std::vector<std::string>>();
    node.outputs = entry.at("outputs").get<std::vector<std::string>>();
    for (const auto& [key, value] : entry.at("attributes").items()) {
      node.attributes.emplace(key, attribute_from(value));
    }
    graph.nodes.push_back(std::move(node));
  }
  for (const auto& [name, value] : object.at("initializers").items()) {
    graph.initializers.emplace(name, constant_from(value));
  }
  for (const auto& [name, value] : object.at("values").items()) {
    graph.values.emplace(name, value_from_json(value));
  }
  return graph;
}

void make_absolute(Graph& graph, const std::filesystem::path& folder) {
  const auto fix = [&](Constant& constant) {
    if (!constant.file.empty()) {
      constant.file = (folder / constant.file).string();
    }
  };
  for (auto& [name, constant] : graph.initializers) {
    fix(constant);
  }
  for (Node& node : graph.nodes) {
    for (auto& [key, attribute] : node.attributes) {
      if (auto* constant = std::get_if<Constant>(&attribute.value)) {
        fix(*constant);
      } else if (auto* inner = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) {
        make_absolute(**inner, folder);
      }
    }
  }
}

}  // namespace

json value_json(const ValueInfo& value) {
  json made = {{"name", value.name}, {"type", to_string(value.type)}};
  if (value.shape) {
    made["shape"] = dimensions_json(*value.shape);
  }
  return made;
}

ValueInfo value_from_json(const json& object) {
  ValueInfo value;
  value.name = object.at("name").get<std::string>();
  value.type = data_type_from_string(object.at("type").get<std::string>()).value_or(DataType::kUndefined);
  if (object.contains("shape")) {
    value.shape.emplace();
    for (const auto& dimension : object["shape"]) {
      value.shape->push_back(dimension.is_number() ? Dimension{dimension.get<std::int64_t>(), ""}
                                                   : Dimension{std::nullopt, dimension.get<std::string>()});
    }
  }
  return value;
}

json to_json(const Graph& graph) {
  json nodes = json::array();
  for (const Node& node : graph.nodes) {
    json attributes = json::object();
    for (const auto& [key, attribute] : node.attributes) {
      attributes[key] = attribute_json(attribute);
    }
    nodes.push_back({{"name", node.name},
                     {"op", node.op_type},
                     {"domain", node.domain},
                     {"inputs", node.inputs},
                     {"outputs", node.outputs},
                     {"attributes", std::move(attributes)}});
  }
  json inputs = json::array();
  json outputs = json::array();
  for (const ValueInfo& value : graph.inputs) {
    inputs.push_back(value_json(value));
  }
  for (const ValueInfo& value : graph.outputs) {
    outputs.push_back(value_json(value));
  }
  json initializers = json::object();
  for (const auto& [name, constant] : graph.initializers) {
    initializers[name] = constant_json(constant);
  }
  json values = json::object();
  for (const auto& [name, value] : graph.values) {
    values[name] = value_json(value);
  }
  return {{"format", 1},
          {"name", graph.name},
          {"opsets", graph.opsets},
          {"inputs", std::move(inputs)},
          {"outputs", std::move(outputs)},
          {"nodes", std::move(nodes)},
          {"initializers", std::move(initializers)},
          {"values", std::move(values)}};
}

Result<Graph> graph_from_json(const json& object) {
  try {
    return parse_graph(object);
  } catch (const json::exception& error) {
    return fail(Reason::kInvalidModel, "graph: {}", error.what());
  }
}

Result<Graph> read_graph(const std::string& path) {
  TOUCHSTONE_ASSIGN(const std::string text, read_text_file(path));
  const auto object = json::parse(text, nullptr, false);
  if (object.is_discarded()) {
    return fail(Reason::kInvalidModel, "{}: is not JSON", path);
  }
  auto graph = graph_from_json(object);
  if (!graph) {
    return fail(graph.error().reason, "{}: {}", path, graph.error().message);
  }
  make_absolute(*graph, std::filesystem::absolute(path).parent_path());
  return graph;
}

}  // namespace touchstone
