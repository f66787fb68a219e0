// SPDX-License-Identifier: Apache-2.0
// JSON from outside: a checkpoint's config.json through every architecture, a graph, a bundle, an input rule.
#include <nlohmann/json.hpp>

#include "fuzz_file.h"
#include "graph/bundle.h"
#include "models/zoo.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace touchstone;
  const auto object = nlohmann::json::parse(data, data + size, nullptr, false);
  if (object.is_discarded()) {
    return 0;
  }
  const auto graph = graph_from_json(object);
  const auto bundle = bundle_from_json(object, "/nowhere");
  const auto rule = input_rule_from_json(object);
  if (object.is_object()) {
    for (const Family& family : families()) {
      if (family.from_config != nullptr) {
        const auto entry = family.from_config("fuzz", object);
      }
    }
  }
  return 0;
}
