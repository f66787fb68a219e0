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

}  // namespace

Result<Bundle> prepare_bundle(const std::string& model, const std::string& home) {
  const auto bundles = std::filesystem::path(home) / "bundles";
  if (const ZooEntry* entry = find_in_zoo(model)) {
    return zoo_bundle(*entry, bundles);
  }
  const bool looks_like_file =
      model.find('/') != std::string::npos || std::filesystem::path(model).has_extension();
  if (!looks_like_file) {
    std::vector<std::string> known;
    for (const ZooEntry& entry : zoo()) {
      known.push_back(entry.name);
    }
    return fail(
        Reason::kUsage,
        "there is no model '{}'{}; `touchstone models` lists the zoo, or give the path of an .onnx file",
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
