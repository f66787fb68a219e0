// SPDX-License-Identifier: Apache-2.0
// The inputs of one shape, made up or the user's own, made once and handed to every worker by descriptor.
#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "bench/plan.h"
#include "bench/user_inputs.h"
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

/// Which inputs: made up, with or without padding in their masks, or rows of one of the user's sets.
struct InputBatch {
  bool padded = false;     // of made-up inputs
  std::size_t set = 0;     // of the user's
  std::int64_t first = 0;  // row of the set; from the last row on it goes on with the first
};

class InputSource {
 public:
  /// `bundle` has to outlive the source; without `user` all inputs are made up from the seed.
  InputSource(const Bundle& bundle, std::uint64_t seed, std::shared_ptr<const UserInputs> user = nullptr)
      : bundle_(bundle), seed_(seed), user_(std::move(user)) {}

  const UserInputs* user() const { return user_.get(); }

  /// On what a cell of these dimensions is proven; the last batch is also the one that is timed. Every row of
  /// every set of the user's that has these dimensions is in one of them.
  std::vector<InputBatch> batches(const DimensionValues& dimensions) const;
  /// Rows that one inference of these dimensions takes; 0 where rows cannot be told apart.
  std::int64_t rows(const DimensionValues& dimensions) const;

  /// Errors: invalid-input (a dimension without a value, an input that cannot be made up), out-of-memory.
  Result<TensorSet> make(const DimensionValues& dimensions, const InputBatch& batch) const;

  /// What tells the content of a batch from any other of the same bundle and dimensions.
  nlohmann::json key(const InputBatch& batch) const;

 private:
  Result<void> fill(std::size_t input, const InputBatch& batch, const TensorView& out) const;

  const Bundle& bundle_;
  std::uint64_t seed_;
  std::shared_ptr<const UserInputs> user_;
};

}  // namespace touchstone
