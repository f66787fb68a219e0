// SPDX-License-Identifier: Apache-2.0
// A user's own inputs (`--inputs`), and the outputs that they should give where the user knows them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/plan.h"
#include "bench/run.h"
#include "graph/bundle.h"

namespace touchstone {

struct UserInputSet {
  std::string name;
  DimensionValues dimensions;  // what its shapes say of the model's dimensions
  std::int64_t rows = 0;       // samples that it can be taken apart into; 0: it is used as a whole
  std::vector<std::optional<TensorView>> inputs;    // in the model's order; none: filled by the input's rule
  std::vector<std::optional<TensorView>> expected;  // in the model's order; empty: the reference is asked
};

class UserInputs {
 public:
  /// Has touchstone-model read the files. Errors: invalid-input, naming file and array; storage.
  static Result<std::shared_ptr<const UserInputs>> read(const Installation& installation,
                                                        const Bundle& bundle, const std::string& inputs,
                                                        const std::string& expected);

  const std::vector<UserInputSet>& sets() const { return sets_; }
  const std::string& hash() const { return hash_; }                 // of all data
  const std::vector<std::string>& notes() const { return notes_; }  // what a person should know of them
  /// Whether some set fills the input at this place.
  bool fills(std::size_t input) const;
  /// Whether every set says what its outputs should be.
  bool judged() const;

 private:
  UserInputs() = default;
  Result<void> take(const nlohmann::json& answer, const std::string& file);

  std::string hash_;
  std::vector<std::string> notes_;
  std::vector<UserInputSet> sets_;
  WeightMap data_;
};

}  // namespace touchstone
