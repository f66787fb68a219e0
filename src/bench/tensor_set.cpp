// SPDX-License-Identifier: Apache-2.0
#include "bench/tensor_set.h"

namespace touchstone {

using nlohmann::json;

json TensorSet::prepare_request() const {
  json inputs = json::array();
  for (const TensorPlace& place : places) {
    inputs.push_back(to_json(place.spec));
  }
  return {{"do", "prepare"}, {"inputs", inputs}};
}

json TensorSet::inputs_request() const {
  json tensors = json::array();
  for (const TensorPlace& place : places) {
    tensors.push_back(to_json(place));
  }
  return {{"do", "inputs"}, {"size", size}, {"tensors", tensors}};
}

Result<TensorSet> make_inputs(const Bundle& bundle, const DimensionValues& dimensions, std::uint64_t seed,
                              bool padded) {
  std::vector<TensorSpec> specs;
  for (const InputRule& rule : bundle.inputs) {
    TOUCHSTONE_ASSIGN(auto shape, concrete_shape(rule.shape, dimensions));
    specs.push_back({rule.name, rule.type, std::move(shape)});
  }
  std::size_t total = 0;
  auto places = place_tensors(specs, total);
  TOUCHSTONE_ASSIGN(SharedMemory memory, SharedMemory::create(total));
  TOUCHSTONE_ASSIGN(const auto views, view_tensors(places, memory.bytes()));
  for (std::size_t i = 0; i < views.size(); ++i) {
    TOUCHSTONE_TRY(fill_input(bundle.inputs[i], seed, padded, views[i]));
  }
  TOUCHSTONE_TRY(memory.seal());
  return TensorSet{std::move(places), std::move(memory), total};
}

}  // namespace touchstone
