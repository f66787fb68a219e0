// SPDX-License-Identifier: Apache-2.0
#include "models/zoo.h"

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

const ZooEntry* find_in_zoo(const std::string& name) {
  for (const ZooModel& model : zoo()) {
    if (model.entry->name == name) {
      return model.entry;
    }
  }
  return nullptr;
}

}  // namespace touchstone
