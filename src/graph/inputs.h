// SPDX-License-Identifier: Apache-2.0
// What sensible random data is for each input of a model, and the data itself.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/types.h"

namespace touchstone {

/// How one input is filled. `why` says in a few words what the choice rests on ("read by Gather from 21128
/// rows"); of kUnknown, which nobody can make up, it says what the input is ("the number of iterations of
/// Loop 'decode'").
struct InputRule {
  enum class Kind { kIntegers, kOnes, kMask, kZeros, kNormal, kUniform, kPositions, kUnknown };
  std::string name;
  DataType type = DataType::kUndefined;
  std::vector<Dimension> shape;
  Kind kind = Kind::kNormal;
  double low = 0;   // kIntegers: from low up to but not including high; kUniform: from low to high
  double high = 1;  // kNormal: mean in `low`, standard deviation in `high`
  std::string why;
};

nlohmann::json to_json(const InputRule& rule);
/// Errors: invalid-model, naming the field.
Result<InputRule> input_rule_from_json(const nlohmann::json& json);

/// The rules for all inputs of a graph: token ids within the table that their Gather reads, masks of ones,
/// normal floats.
std::vector<InputRule> infer_input_rules(const Graph& graph);

/// The shape with every symbol replaced. Errors: invalid-input, naming the dimension that has no value.
Result<std::vector<std::int64_t>> concrete_shape(const std::vector<Dimension>& shape,
                                                 const std::map<std::string, std::int64_t>& dimensions);

/// Fills `out` (its type and shape are the rule's) with numbers drawn from a counter-based generator keyed by
/// seed, input name, row and position: row r of dimension 0 is the same for every batch size. `padded` ends
/// the masks of every other row, from row 0 on, in zeros; the rows between keep all ones. Errors:
/// unsupported, for strings; invalid-input, for what cannot be made up.
Result<void> fill_input(const InputRule& rule, std::uint64_t seed, bool padded, const TensorView& out);

}  // namespace touchstone
