// SPDX-License-Identifier: Apache-2.0
#include "bench/proof.h"

#include <algorithm>

#include "base/text.h"

namespace touchstone {
namespace {

// The word for this output, or the one for all of them.
template <class T>
const T* find(const std::map<std::string, T>& words, const std::string& output) {
  const auto own = words.find(output);
  const auto found = own == words.end() ? words.find("") : own;
  return found == words.end() ? nullptr : &found->second;
}

template <class T>
Result<void> check_names(const std::map<std::string, T>& words, const std::vector<std::string>& outputs,
                         std::string_view flag) {
  for (const auto& [name, value] : words) {
    if (!name.empty() && std::find(outputs.begin(), outputs.end(), name) == outputs.end()) {
      return fail(Reason::kUsage, "{}: the model has no output '{}'{}; it has: {}", flag, name,
                  did_you_mean(name, outputs), fmt::join(outputs, ", "));
    }
  }
  return {};
}

// What a cosine or a share may be off where nobody said.
double default_limit(Tolerance::By by, double largest_error) {
  switch (by) {
    case Tolerance::By::kCosine:
      return 1e-3;
    case Tolerance::By::kTop1:
      return 0;
    case Tolerance::By::kLargestError:
      break;
  }
  return largest_error;
}

}  // namespace

Result<Judging> judging_of(const Plan& plan, const Bundle& bundle, const std::string& precision) {
  Judging judging;
  for (const ValueInfo& output : bundle.outputs) {
    judging.names.push_back(output.name);
  }
  TOUCHSTONE_TRY(check_names(plan.tolerances, judging.names, "--tolerance"));
  TOUCHSTONE_TRY(check_names(plan.judges, judging.names, "--judge"));
  for (const std::string& name : judging.names) {
    Tolerance tolerance = tolerance_for(precision);
    if (const std::string* word = find(plan.judges, name)) {
      tolerance.by = judged_by(*word).value_or(tolerance.by);
      tolerance.limit = default_limit(tolerance.by, tolerance.limit);
    }
    if (const double* limit = find(plan.tolerances, name)) {
      tolerance.limit = *limit;
    }
    judging.tolerances.push_back(tolerance);
  }
  if (precision != "f32" && bundle.source.starts_with("zoo:") && plan.inputs.empty()) {
    judging.not_judged = fmt::format("what {} costs in accuracy cannot be seen on random weights", precision);
  }
  return judging;
}

Result<void> compare_outputs(const std::vector<TensorView>& actual, const Expected& expected,
                             const Judging& judging, Proof& proof) {
  if (actual.size() != expected.tensors.size()) {
    return fail(Reason::kWrongResult, "{} outputs, {} has {}", actual.size(), expected.truth,
                expected.tensors.size());
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (expected.tensors[i].type == DataType::kUndefined) {
      continue;
    }
    const Tolerance tolerance = i < judging.tolerances.size() ? judging.tolerances[i] : Tolerance{};
    const Verdict verdict =
        compare_tensors(actual[i], expected.tensors[i], tolerance, expected.rows_may_differ, expected.truth);
    proof.max_error = std::max(proof.max_error, verdict.max_rel);
    proof.cosine = std::min(proof.cosine, verdict.cosine);
    proof.vectors += verdict.vectors;
    proof.same_top += verdict.same_top;
    if (!verdict.equal && proof.equal && judging.not_judged.empty()) {
      proof.equal = false;
      const std::string name = i < judging.names.size() ? judging.names[i] : std::to_string(i);
      proof.message = fmt::format("output '{}': {}", name, verdict.message);
    }
  }
  return {};
}

std::string verdict_text(const Proof& proof, const Judging& judging, const std::string& truth) {
  if (!proof.equal) {
    return proof.message;
  }
  if (!judging.not_judged.empty()) {
    return "not judged: " + judging.not_judged;
  }
  std::string text = "equal";
  if (proof.vectors > 0) {
    text += fmt::format(" by top-1 ({} of {} vectors)", proof.same_top, proof.vectors);
  }
  if (std::any_of(judging.tolerances.begin(), judging.tolerances.end(),
                  [](const Tolerance& tolerance) { return tolerance.by == Tolerance::By::kCosine; })) {
    text += fmt::format(" by cosine ({:.6f} or more)", proof.cosine);
  }
  return truth == Expected{}.truth ? text : fmt::format("{} to {}", text, truth);
}

}  // namespace touchstone
