// SPDX-License-Identifier: Apache-2.0
#include "models/zoo.h"

#include <fmt/ranges.h>

namespace touchstone {

// families.inc lists the files of families/, one TOUCHSTONE_FAMILY(name) each; CMake writes it.
namespace architectures {
#define TOUCHSTONE_FAMILY(NAME) Family NAME();
#include "families.inc"
#undef TOUCHSTONE_FAMILY
}  // namespace architectures

const std::vector<Family>& families() {
  static const std::vector<Family> kFamilies = {
#define TOUCHSTONE_FAMILY(NAME) architectures::NAME(),
#include "families.inc"
#undef TOUCHSTONE_FAMILY
  };
  return kFamilies;
}

const std::vector<ZooModel>& zoo() {
  static const std::vector<ZooModel> kZoo = [] {
    std::vector<ZooModel> models;
    for (const Family& family : families()) {
      for (const ZooEntry& entry : family.entries) {
        models.push_back({&family, &entry});
      }
    }
    return models;
  }();
  return kZoo;
}

WeightCount count_weights(const ZooEntry& entry) {
  WeightCount count;
  for (const WeightSpec& weight : entry.build(Form::kPrimitive).weights) {
    const std::size_t elements = element_count(weight.shape);
    count.parameters += weight.buffer ? 0 : elements;
    count.bytes += elements * sizeof(float);
  }
  for (const auto& [name, elements] : entry.unread) {
    count.parameters += static_cast<std::uint64_t>(elements);
  }
  return count;
}

ModelName parse_model_name(const std::string& text) {
  for (const std::string graph : {":prefill", ":decode"}) {
    if (text.ends_with(graph)) {
      return {text.substr(0, text.size() - graph.size()), graph};
    }
  }
  return {text, ""};
}

Result<const ZooEntry*> graph_of(const ZooEntry& entry, const std::string& graph) {
  if (graph.empty()) {
    return &entry;
  }
  for (const ZooEntry& other : entry.generation) {
    if (other.name == entry.name + graph) {
      return &other;
    }
  }
  std::vector<std::string> able;
  for (const ZooModel& model : zoo()) {
    if (!model.entry->generation.empty()) {
      able.push_back(model.entry->name);
    }
  }
  return fail(
      Reason::kUnsupported,
      "{} has no graph '{}': generation is built for {} and for checkpoints of their architectures that "
      "have a language head",
      entry.name, graph.substr(1), fmt::join(able, ", "));
}

const ZooEntry* find_in_zoo(const std::string& name) {
  const ModelName wanted = parse_model_name(name);
  for (const ZooModel& model : zoo()) {
    if (model.entry->name != wanted.base) {
      continue;
    }
    const auto found = graph_of(*model.entry, wanted.graph);
    return found ? *found : nullptr;
  }
  return nullptr;
}

}  // namespace touchstone
