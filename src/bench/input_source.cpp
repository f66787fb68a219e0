// SPDX-License-Identifier: Apache-2.0
#include "bench/input_source.h"

#include <algorithm>

namespace touchstone {
namespace {

using nlohmann::json;

// Copies `rows` rows, from row `first` on and around.
Result<void> copy_rows(const TensorView& in, std::int64_t first, const TensorView& out) {
  const std::size_t have = static_cast<std::size_t>(in.shape.front());
  const std::size_t want = static_cast<std::size_t>(out.shape.front());
  if (in.bytes.size() % have != 0 || bits(in.type) < 8) {
    return fail(Reason::kUnsupported, "rows of {} elements are not whole bytes; give the whole batch at once",
                to_string(in.type));
  }
  const std::size_t size = in.bytes.size() / have;
  for (std::size_t row = 0; row < want; ++row) {
    const std::size_t from = (static_cast<std::size_t>(first) + row) % have;
    std::copy_n(in.bytes.begin() + static_cast<std::ptrdiff_t>(from * size), size,
                out.bytes.begin() + static_cast<std::ptrdiff_t>(row * size));
  }
  return {};
}

}  // namespace

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

std::int64_t InputSource::rows(const DimensionValues& dimensions) const {
  if (bundle_.row_independent) {
    const auto batch = dimensions.find(bundle_.dimensions.front());
    return batch == dimensions.end() ? 0 : batch->second;
  }
  const auto& shape = bundle_.inputs.empty() ? std::vector<Dimension>() : bundle_.inputs.front().shape;
  return shape.empty() ? 0 : shape.front().value.value_or(0);
}

std::vector<InputBatch> InputSource::batches(const DimensionValues& dimensions) const {
  if (!user_) {
    return {{true, 0, 0}, {false, 0, 0}};
  }
  std::vector<InputBatch> batches;
  for (std::size_t i = user_->sets().size(); i-- > 0;) {
    const UserInputSet& set = user_->sets()[i];
    const bool apart = set.rows > 0;
    const bool same = std::all_of(set.dimensions.begin(), set.dimensions.end(), [&](const auto& dimension) {
      return (apart && bundle_.row_independent && dimension.first == bundle_.dimensions.front()) ||
             dimensions.at(dimension.first) == dimension.second;
    });
    if (!same) {
      continue;
    }
    const std::int64_t step = apart ? rows(dimensions) : 1;
    const std::int64_t last = apart ? std::max<std::int64_t>(0, set.rows - step) : 0;
    // The last rows first, those that fill no batch of their own together with some before them.
    for (std::int64_t first = (last + step - 1) / step * step; first >= 0; first -= step) {
      batches.push_back({false, i, std::min(first, last)});
    }
  }
  return batches;
}

Result<void> InputSource::fill(std::size_t input, const InputBatch& batch, const TensorView& out) const {
  if (!user_ || !user_->sets()[batch.set].inputs[input]) {
    return fill_input(bundle_.inputs[input], seed_, batch.padded, out);
  }
  const TensorView& given = *user_->sets()[batch.set].inputs[input];
  if (given.shape == out.shape && batch.first == 0) {
    std::copy(given.bytes.begin(), given.bytes.end(), out.bytes.begin());
    return {};
  }
  return copy_rows(given, batch.first, out);
}

Result<TensorSet> InputSource::make(const DimensionValues& dimensions, const InputBatch& batch) const {
  std::vector<TensorSpec> specs;
  for (const InputRule& rule : bundle_.inputs) {
    TOUCHSTONE_ASSIGN(auto shape, concrete_shape(rule.shape, dimensions));
    specs.push_back({rule.name, rule.type, std::move(shape)});
  }
  std::size_t total = 0;
  auto places = place_tensors(specs, total);
  TOUCHSTONE_ASSIGN(SharedMemory memory, SharedMemory::create(total));
  TOUCHSTONE_ASSIGN(const auto views, view_tensors(places, memory.bytes()));
  for (std::size_t i = 0; i < views.size(); ++i) {
    TOUCHSTONE_TRY(fill(i, batch, views[i]));
  }
  TOUCHSTONE_TRY(memory.seal());
  return TensorSet{std::move(places), std::move(memory), total};
}

json InputSource::key(const InputBatch& batch) const {
  return user_ ? json{user_->hash(), batch.set, batch.first, seed_} : json{seed_, batch.padded};
}

}  // namespace touchstone
