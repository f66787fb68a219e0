// SPDX-License-Identifier: Apache-2.0
#include "describe.h"

#include <unistd.h>

#include <algorithm>

namespace touchstone {
namespace {

namespace fs = std::filesystem;

// The symbolic dimensions in the order in which the inputs name them.
std::vector<std::string> input_dimensions(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueInfo& input : graph.inputs) {
    for (const Dimension& dimension : input.shape.value_or(std::vector<Dimension>{})) {
      if (!dimension.value && std::find(names.begin(), names.end(), dimension.symbol) == names.end()) {
        names.push_back(dimension.symbol);
      }
    }
  }
  return names;
}

// Whether dimension 0 of every input and output is one and the same symbol.
bool rows_look_independent(const Graph& graph) {
  std::optional<std::string> symbol;
  const auto agrees = [&](const ValueInfo& value) {
    if (!value.shape || value.shape->empty() || value.shape->front().value) {
      return false;
    }
    if (!symbol) {
      symbol = value.shape->front().symbol;
    }
    return value.shape->front().symbol == *symbol && !symbol->empty();
  };
  return !graph.inputs.empty() && std::all_of(graph.inputs.begin(), graph.inputs.end(), agrees) &&
         std::all_of(graph.outputs.begin(), graph.outputs.end(), agrees);
}

}  // namespace

Bundle describe(const Graph& graph) {
  Bundle bundle;
  bundle.name = graph.name;
  bundle.dimensions = input_dimensions(graph);
  bundle.inputs = infer_input_rules(graph);
  bundle.outputs = graph.outputs;
  bundle.opsets = graph.opsets;
  for (const Node& node : graph.nodes) {
    ++bundle.operators[node.domain.empty() ? node.op_type : node.domain + "." + node.op_type];
  }
  bundle.row_independent = rows_look_independent(graph);
  return bundle;
}

TemporaryFolder::TemporaryFolder(const fs::path& final_folder)
    : final_(final_folder), path_(final_folder.string() + ".partial-" + std::to_string(getpid())) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Result<void> TemporaryFolder::create() const {
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) {
    return fail(Reason::kStorage, "{}: cannot be made: {}", path_.string(), error.message());
  }
  return {};
}

Result<Bundle> TemporaryFolder::commit(const Bundle& bundle) const {
  TOUCHSTONE_TRY(write_text_file(
      file("bundle.json"), to_json(bundle).dump(1, ' ', false, nlohmann::json::error_handler_t::replace)));
  std::error_code error;
  fs::rename(path_, final_, error);
  if (error && read_bundle(final_.string())) {
    return read_bundle(final_.string());  // another process was first with the same content
  }
  if (error) {  // a leftover that no longer reads, of an older version or damaged
    fs::remove_all(final_, error);
    fs::rename(path_, final_, error);
  }
  if (error) {
    return fail(Reason::kStorage, "{}: cannot be moved into place: {}", final_.string(), error.message());
  }
  return read_bundle(final_.string());
}

}  // namespace touchstone
