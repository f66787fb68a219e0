// SPDX-License-Identifier: Apache-2.0
#include "prepare.h"

#include <filesystem>

#include "base/text.h"
#include "bundles.h"
#include "graph/onnx/onnx_io.h"
#include "graph/passes/cost.h"

namespace touchstone {
namespace {

using nlohmann::json;

json to_json(const Cost& cost) {
  json operators = json::object();
  for (const auto& [op, sum] : cost.by_operator) {
    operators[op] = {{"nodes", sum.nodes}, {"flops", sum.flops}, {"bytes", sum.bytes}};
  }
  return {{"flops", cost.flops},
          {"bytes", cost.bytes},
          {"by_operator", std::move(operators)},
          {"uncounted", cost.uncounted}};
}

// The operations of a model at the shape it is told for. Weights have a shape here and no bytes.
Result<std::uint64_t> stated_flops(const ZooEntry& entry) {
  ModelDefinition model = entry.build(Form::kPrimitive);
  for (const WeightSpec& weight : model.weights) {
    Constant constant;
    constant.type = DataType::kFloat;
    constant.shape = weight.shape;
    constant.file = "weights.bin";
    constant.size = byte_size(DataType::kFloat, element_count(weight.shape));
    model.graph.initializers[weight.name] = std::move(constant);
  }
  TOUCHSTONE_ASSIGN(const Graph concrete, make_concrete(std::move(model.graph), entry.stated));
  TOUCHSTONE_ASSIGN(const Cost cost, count_cost(concrete));
  return cost.flops;
}

}  // namespace

Result<json> list_zoo() {
  json models = json::array();
  for (const ZooModel& known : zoo()) {
    const ZooEntry& entry = *known.entry;
    const WeightCount count = count_weights(entry);
    const auto flops = stated_flops(entry);
    if (!flops) {
      return fail(Reason::kInternal, "{}: {}", entry.name, flops.error().message);
    }
    models.push_back({{"name", entry.name},
                      {"family", known.family->name},
                      {"description", entry.description},
                      {"parameters", count.parameters},
                      {"weight_bytes", count.bytes},
                      {"stated", entry.stated},
                      {"flops", *flops},
                      {"generates", !entry.generation.empty()},
                      {"max_sequence", entry.max_sequence ? json(*entry.max_sequence) : json()}});
  }
  return json{{"models", models}};
}

Result<Bundle> prepare_bundle(const std::string& model, const std::string& home) {
  const auto bundles = std::filesystem::path(home) / "bundles";
  const ModelName name = parse_model_name(model);
  if (const ZooEntry* entry = find_in_zoo(name.base)) {
    TOUCHSTONE_ASSIGN(const ZooEntry* graph, graph_of(*entry, name.graph));
    return zoo_bundle(*graph, bundles);
  }
  std::error_code unknown;
  if (std::filesystem::is_directory(name.base, unknown)) {
    return checkpoint_bundle(name, bundles);
  }
  const bool looks_like_file =
      model.find('/') != std::string::npos || std::filesystem::path(model).has_extension();
  if (!name.graph.empty() && looks_like_file) {
    return fail(
        Reason::kUnsupported,
        "{}: '{}' is of zoo models and checkpoints; of ONNX files, give the one that holds that graph", model,
        name.graph);
  }
  if (!looks_like_file) {
    std::vector<std::string> known;
    for (const ZooModel& other : zoo()) {
      known.push_back(other.entry->name);
    }
    return fail(Reason::kUsage,
                "there is no model '{}'{}; `touchstone models` lists the zoo, or give the path of an .onnx "
                "file or of a checkpoint's folder",
                model, did_you_mean(model, known));
  }
  return file_bundle(model, bundles);
}

Result<json> bundle_cost(const std::string& folder, const std::string& shapes) {
  const auto list = json::parse(shapes, nullptr, false);
  if (!list.is_array()) {
    return fail(Reason::kUsage, "shapes are a JSON list such as [{{\"batch\":1,\"seq\":64}}], not '{}'",
                shapes);
  }
  TOUCHSTONE_ASSIGN(const Bundle bundle, read_bundle(folder));
  TOUCHSTONE_ASSIGN(const Graph graph, read_graph(bundle.forms.at("source").graph));
  json answers = json::array();
  for (const json& shape : list) {
    TOUCHSTONE_ASSIGN(const Graph concrete,
                      make_concrete(graph, shape.get<std::map<std::string, std::int64_t>>()));
    TOUCHSTONE_ASSIGN(const Cost cost, count_cost(concrete));
    answers.push_back(to_json(cost));
  }
  return answers;
}

}  // namespace touchstone
