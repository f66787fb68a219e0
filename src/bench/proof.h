// SPDX-License-Identifier: Apache-2.0
// What a cell's outputs are held against, and what came of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/plan.h"
#include "graph/bundle.h"
#include "reference/verdict.h"

namespace touchstone {

/// The outputs that one batch of inputs should give.
struct Expected {
  std::vector<TensorView> tensors;      // of undefined type: nothing is known of this output
  bool rows_may_differ = false;         // in number; then those that both have are compared
  std::string truth = "the reference";  // whose they are, for messages
  std::shared_ptr<const void> data;     // what the views are of
};

/// How each output is judged, in the model's order.
struct Judging {
  std::vector<std::string> names;
  std::vector<Tolerance> tolerances;
  std::string not_judged;  // where nothing can be said: why
};

/// By the plan's words for this model and precision. Where the weights are random (the zoo's), lower
/// precision is not judged. Errors: usage, for an output that the model does not have.
Result<Judging> judging_of(const Plan& plan, const Bundle& bundle, const std::string& precision);

/// What a cell's proof found.
struct Proof {
  bool equal = true;
  double max_error = 0;  // largest difference, in units of the output's scale
  double cosine = 1;
  std::size_t vectors = 0, same_top = 0;  // where top-1 judges
  std::string message;                    // the first difference
};

/// Adds what `actual` shows to `proof`. Errors: wrong-result, where the number of outputs is another.
Result<void> compare_outputs(const std::vector<TensorView>& actual, const Expected& expected,
                             const Judging& judging, Proof& proof);

/// "equal", "not judged: …", or by what else than the reference or the largest error it is equal.
std::string verdict_text(const Proof& proof, const Judging& judging, const std::string& truth);

}  // namespace touchstone
