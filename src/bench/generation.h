// SPDX-License-Identifier: Apache-2.0
// Proof that an engine generates what the reference does: a prompt, then token after token, each from the
// keys and values that the engine itself made before.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/run.h"

namespace touchstone {

/// The graphs of generation of a model, as names of models: `gpt2:prefill` and `gpt2:decode`.
inline constexpr const char* kPrefill = ":prefill";
inline constexpr const char* kDecode = ":decode";

struct GenerationVerdict {
  std::string column;          // label
  std::string verdict;         // in words, as a cell's
  double max_error = 0;        // largest difference of any logit, in units of the logits' scale
  std::optional<Error> error;  // why its times would be worth nothing
};

struct GenerationProof {
  std::int64_t batch = 0, prompt = 0, steps = 0;
  std::vector<GenerationVerdict> columns;
};

/// Has every column of `plan`, whose model is without a graph's name, read a prompt of its smallest batch and
/// length and decode 32 tokens (fewer where the model has not as many positions). The tokens are those that
/// the reference finds most likely, and every column is given the same; the logits are compared at every
/// step. `tell` hears which column is at work. Errors: usage (no lengths), those of preparing the model and
/// of the reference, interrupted; what concerns one column is in its verdict.
Result<GenerationProof> prove_generation(const Plan& plan, const Installation& installation,
                                         const std::function<void(const std::string&)>& tell);

}  // namespace touchstone
