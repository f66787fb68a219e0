// SPDX-License-Identifier: Apache-2.0
// The inputs of one shape, made once and handed to every worker by descriptor.
#pragma once

#include <vector>

#include "base/result.h"
#include "bench/plan.h"
#include "graph/bundle.h"
#include "worker/protocol.h"

namespace touchstone {

struct TensorSet {
  std::vector<TensorPlace> places;
  SharedMemory memory;
  std::size_t size = 0;

  /// The requests `prepare` and `inputs` for these tensors.
  nlohmann::json prepare_request() const;
  nlohmann::json inputs_request() const;
};

/// Fills the model's inputs at these dimensions. Errors: invalid-input (a dimension without a value),
/// out-of-memory.
Result<TensorSet> make_inputs(const Bundle& bundle, const DimensionValues& dimensions, std::uint64_t seed,
                              bool padded);

}  // namespace touchstone
