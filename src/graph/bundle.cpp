// SPDX-License-Identifier: Apache-2.0
#include "graph/bundle.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

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

json value_json(const ValueInfo& value) {
  json made = {{"name", value.name}, {"type", to_string(value.type)}};
  if (value.shape) {
    made["shape"] = dimensions_json(*value.shape);
  }
  return made;
}

ValueInfo value_from(const json& object) {
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

json constant_json(const Constant& constant) {
  json made = {{"type", to_string(constant.type)}, {"shape", constant.shape}};
  if (constant.type == DataType::kString) {
    made["strings"] = constant.strings;
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
    constant.strings = object["strings"].get<std::vector<std::string>>();
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
    json operator()(const std::vector<std::string>& value) const { return {{"strings", value}}; }
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
  const auto& [kind, value] = *object.items().begin();
  if (kind == "i") {
    return {value.get<std::int64_t>()};
  }
  if (kind == "f") {
    return {float_from(value)};
  }
  if (kind == "s") {
    const auto bytes = from_hex(value.get_ref<const std::string&>());
    return {std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
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
    return {value.get<std::vector<std::string>>()};
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
    graph.inputs.push_back(value_from(value));
  }
  for (const auto& value : object.at("outputs")) {
    graph.outputs.push_back(value_from(value));
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
    graph.values.emplace(name, value_from(value));
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

Result<std::string> read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fail(Reason::kInvalidModel, "{}: cannot be read: {}", path, strerror(errno));
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<void> write_text_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.flush();
  if (!file) {
    return fail(Reason::kStorage, "{}: cannot be written: {}", path, strerror(errno));
  }
  return {};
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

json to_json(const Bundle& bundle) {
  json inputs = json::array();
  for (const InputRule& rule : bundle.inputs) {
    inputs.push_back(to_json(rule));
  }
  json outputs = json::array();
  for (const ValueInfo& value : bundle.outputs) {
    outputs.push_back(value_json(value));
  }
  json forms = json::object();
  for (const auto& [name, files] : bundle.forms) {
    forms[name] = {{"onnx", files.onnx}, {"graph", files.graph}};
  }
  return {{"format", 1},
          {"name", bundle.name},
          {"source", bundle.source},
          {"hash", bundle.hash},
          {"parameters", bundle.parameters},
          {"weight_bytes", bundle.weight_bytes},
          {"limits", {{"max_sequence", bundle.max_sequence ? json(*bundle.max_sequence) : json()}}},
          {"dimensions", bundle.dimensions},
          {"inputs", std::move(inputs)},
          {"outputs", std::move(outputs)},
          {"operators", bundle.operators},
          {"forms", std::move(forms)},
          {"row_independent", bundle.row_independent}};
}

Result<Bundle> bundle_from_json(const json& object, const std::string& folder) {
  Bundle bundle;
  bundle.folder = folder;
  try {
    bundle.name = object.at("name").get<std::string>();
    bundle.source = object.at("source").get<std::string>();
    bundle.hash = object.at("hash").get<std::string>();
    bundle.parameters = object.at("parameters").get<std::uint64_t>();
    bundle.weight_bytes = object.at("weight_bytes").get<std::uint64_t>();
    if (const auto& limit = object.at("limits").at("max_sequence"); !limit.is_null()) {
      bundle.max_sequence = limit.get<std::int64_t>();
    }
    bundle.dimensions = object.at("dimensions").get<std::vector<std::string>>();
    for (const auto& rule : object.at("inputs")) {
      TOUCHSTONE_ASSIGN(InputRule read, input_rule_from_json(rule));
      bundle.inputs.push_back(std::move(read));
    }
    for (const auto& value : object.at("outputs")) {
      bundle.outputs.push_back(value_from(value));
    }
    bundle.operators = object.at("operators").get<std::map<std::string, int>>();
    const std::filesystem::path base(folder);
    for (const auto& [name, files] : object.at("forms").items()) {
      // A form that no ONNX file can express (it uses touchstone's own composites) names none.
      const auto absolute = [&](const char* kind) {
        const auto file = files.at(kind).get<std::string>();
        return file.empty() ? file : (base / file).string();
      };
      bundle.forms[name] = {absolute("onnx"), absolute("graph")};
    }
    bundle.row_independent = object.at("row_independent").get<bool>();
  } catch (const json::exception& error) {
    return fail(Reason::kInvalidModel, "{}/bundle.json: {}", folder, error.what());
  }
  return bundle;
}

Result<Bundle> read_bundle(const std::string& folder) {
  TOUCHSTONE_ASSIGN(const std::string text, read_text_file(folder + "/bundle.json"));
  const auto object = json::parse(text, nullptr, false);
  if (object.is_discarded()) {
    return fail(Reason::kInvalidModel, "{}/bundle.json: is not JSON", folder);
  }
  return bundle_from_json(object, folder);
}

WeightMap::Mapping::~Mapping() {
  if (size > 0) {
    munmap(const_cast<std::byte*>(data), size);
  }
}

Result<const WeightMap::Mapping*> WeightMap::map(const std::string& file) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = mappings_.find(file); found != mappings_.end()) {
    return found->second.get();
  }
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    const int error = errno;
    if (descriptor >= 0) {
      close(descriptor);
    }
    return fail(Reason::kInvalidModel, "{}: weights cannot be read: {}", file, strerror(error));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (data == MAP_FAILED) {
    return fail(Reason::kInvalidModel, "{}: weights cannot be mapped: {}", file, strerror(errno));
  }
  auto& slot = mappings_[file];
  slot = std::make_unique<Mapping>(static_cast<const std::byte*>(data), size);
  return slot.get();
}

Result<std::span<const std::byte>> WeightMap::bytes(const Constant& constant) {
  if (constant.owned) {
    return std::span<const std::byte>(*constant.owned);
  }
  if (constant.file.empty()) {
    return std::span<const std::byte>();
  }
  TOUCHSTONE_ASSIGN(const Mapping* mapping, map(constant.file));
  if (constant.offset > mapping->size || constant.size > mapping->size - constant.offset) {
    return fail(Reason::kInvalidModel, "{}: holds {} bytes, but a tensor wants {} from {}", constant.file,
                mapping->size, constant.size, constant.offset);
  }
  return std::span(mapping->data + constant.offset, constant.size);
}

}  // namespace touchstone
