// SPDX-License-Identifier: Apache-2.0
#include "reference/operators.h"

#include <stdexcept>

namespace touchstone {
namespace {

const OperatorTable& all_operators() {
  static const OperatorTable kAll = [] {
    OperatorTable all;
    for (const OperatorTable* family :
         {&elementwise_operators(),  &shape_operators(),     &index_operators(),
          &reduce_operators(),       &matrix_operators(),    &normalization_operators(),
          &convolution_operators(),  &unary_operators(),     &creation_operators(),
          &quantization_operators(), &attention_operators(), &recurrent_operators(),
          &resize_operators(),       &einsum_operators(),    &pool_operators(),
          &vision_operators(),       &signal_operators(),    &select_operators(),
          &loss_operators(),         &control_operators()}) {
      all.insert(family->begin(), family->end());
    }
    return all;
  }();
  return kAll;
}

}  // namespace

std::size_t normalize_axis(std::int64_t axis, std::int64_t rank) {
  const std::int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) {
    throw std::out_of_range("an axis is outside the rank");
  }
  return static_cast<std::size_t>(at);
}

const Value& Call::input(std::size_t index) const {
  if (!has(index)) {
    throw std::out_of_range("an input is missing");
  }
  return inputs[index];
}

void Call::require_rank(std::size_t index, std::int64_t least, std::int64_t most) const {
  if (input(index).rank() < least || input(index).rank() > most) {
    throw std::out_of_range("an input is of another rank");
  }
}

void Call::require_count(std::span<const std::int64_t> list, std::size_t count) {
  if (list.size() != count) {
    throw std::out_of_range("an attribute has not one entry an axis");
  }
}

std::vector<std::int64_t> Call::ints(std::size_t index, const std::string& attribute,
                                     std::vector<std::int64_t> fallback) const {
  if (has(index)) {
    const auto values = inputs[index].i();
    return {values.begin(), values.end()};
  }
  return node.ints_attribute(attribute, std::move(fallback));
}

std::int64_t Call::integer(std::size_t index) const {
  const auto values = input(index).i();
  if (values.size() != 1) {
    throw std::out_of_range("an input that has to be one number is none");
  }
  return values.front();
}

std::size_t Call::axis(const std::string& name, std::int64_t fallback, std::int64_t rank) const {
  return normalize_axis(node.int_attribute(name, fallback), rank);
}

tl::unexpected<Error> Call::wrong(const std::string& text) const {
  return fail(Reason::kInvalidInput, "node '{}' ({}): {}", node.name, node.op_type, text);
}

Operator find_operator(const Node& node) {
  const auto found =
      all_operators().find(node.domain.empty() ? node.op_type : node.domain + "." + node.op_type);
  return found == all_operators().end() ? nullptr : found->second;
}

std::vector<std::string> reference_operators() {
  std::vector<std::string> names;
  for (const auto& entry : all_operators()) {
    names.push_back(entry.first);
  }
  return names;
}

}  // namespace touchstone
