// SPDX-License-Identifier: Apache-2.0
// Losses of classifiers, [batch, classes, …] against the index of the right class.
#include <algorithm>
#include <cmath>
#include <optional>

#include "reference/operators.h"

namespace touchstone {
namespace {

// -log_prob[right class] · weight, reduced as the node says; an ignored element counts nothing.
Outputs reduced_loss(const Call& call, const Value& log_prob) {
  const Value& target = call.input(1);
  const auto classes = static_cast<std::size_t>(log_prob.shape()[1]);
  const std::size_t inner = element_count(std::span(log_prob.shape()).subspan(2));
  Shape shape = {log_prob.shape()[0]};
  shape.insert(shape.end(), log_prob.shape().begin() + 2, log_prob.shape().end());
  if (target.shape() != shape || (call.has(2) && call.input(2).size() != classes)) {
    return call.wrong(fmt::format("has targets {} or weights that do not fit {}", describe(target.shape()),
                                  describe(log_prob.shape())));
  }
  const bool ignores = call.node.attributes.contains("ignore_index");
  const std::int64_t ignored = call.node.int_attribute("ignore_index", 0);
  std::vector<double> losses(target.size(), 0.0);
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const std::int64_t right = target.i()[i];
    if (ignores && right == ignored) {
      continue;
    }
    if (right < 0 || right >= static_cast<std::int64_t>(classes)) {
      return call.wrong(fmt::format("has the class {}, of {}", right, classes));
    }
    const auto at = static_cast<std::size_t>(right);
    const double weight = call.has(2) ? call.input(2).d()[at] : 1;
    losses[i] = -weight * log_prob.d()[(i / inner * classes + at) * inner + i % inner];
    sum += losses[i];
    weights += weight;
  }
  const std::string reduction = call.node.string_attribute("reduction", "mean");
  if (reduction == "none") {
    return std::vector{Value::reals(shape, std::move(losses), log_prob.type())};
  }
  return std::vector{Value::reals({}, {reduction == "sum" ? sum : sum / weights}, log_prob.type())};
}

Value log_softmax(const Value& scores) {
  const auto classes = static_cast<std::size_t>(scores.shape()[1]);
  const std::size_t inner = element_count(std::span(scores.shape()).subspan(2));
  Value out = Value::empty_reals(scores.shape(), scores.type());
  for (std::size_t start = 0; start < scores.size(); start += classes * inner) {
    for (std::size_t i = start; i < start + inner; ++i) {
      double largest = scores.d()[i], sum = 0;
      for (std::size_t c = 0; c < classes; ++c) {
        largest = std::max(largest, scores.d()[i + c * inner]);
      }
      for (std::size_t c = 0; c < classes; ++c) {
        sum += std::exp(scores.d()[i + c * inner] - largest);
      }
      for (std::size_t c = 0; c < classes; ++c) {
        out.d_mutable()[i + c * inner] = scores.d()[i + c * inner] - largest - std::log(sum);
      }
    }
  }
  return out;
}

Outputs negative_log_likelihood(const Call& call) {
  call.require_rank(0, 2);
  return reduced_loss(call, call.input(0));
}

Outputs softmax_cross_entropy(const Call& call) {
  call.require_rank(0, 2);
  const Value log_prob = log_softmax(call.input(0));
  auto outputs = reduced_loss(call, log_prob);
  if (outputs) {
    outputs->push_back(log_prob);
  }
  return outputs;
}

}  // namespace

const OperatorTable& loss_operators() {
  static const OperatorTable kTable = {{"NegativeLogLikelihoodLoss", negative_log_likelihood},
                                       {"SoftmaxCrossEntropyLoss", softmax_cross_entropy}};
  return kTable;
}

}  // namespace touchstone
