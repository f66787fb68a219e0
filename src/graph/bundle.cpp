// SPDX-License-Identifier: Apache-2.0
#include "graph/bundle.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "graph/json_values.h"

namespace touchstone {

using nlohmann::json;

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
          {"opsets", bundle.opsets},
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
      bundle.outputs.push_back(value_from_json(value));
    }
    bundle.opsets = object.at("opsets").get<std::map<std::string, int>>();
    bundle.operators = object.at("operators").get<std::map<std::string, int>>();
    const std::filesystem::path base(folder);
    for (const auto& [name, files] : object.at("forms").items()) {
      // A form that no ONNX file can express (it uses touchstone's own composites) names none.
      const auto absolute = [&, &files = files](const char* kind) {
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

}  // namespace touchstone
