// SPDX-License-Identifier: Apache-2.0
// Einsum, by its definition: a sum over every label that the output lacks.
#include <algorithm>

#include "reference/operators.h"

namespace touchstone {
namespace {

// The labels of each input and of the output; an ellipsis is written out as labels beyond the letters.
struct Equation {
  std::vector<std::vector<int>> inputs;
  std::vector<int> output;
};

constexpr int kEllipsis = 256;  // first label of the ellipsis' dimensions, counted from the right

std::vector<int> labels_of(const std::string& term, std::size_t rank) {
  std::vector<int> labels;
  const auto letters = static_cast<std::size_t>(std::count_if(
      term.begin(), term.end(), [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }));
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term[i] == '.') {
      for (std::size_t left = rank - std::min(rank, letters); left > 0; --left) {
        labels.push_back(kEllipsis + static_cast<int>(left) - 1);
      }
      i += 2;
    } else if (term[i] != ' ') {
      labels.push_back(term[i]);
    }
  }
  return labels;
}

Equation parse(const std::string& text, std::span<const Value> inputs) {
  Equation equation;
  const std::size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  std::size_t begin = 0, widest = 0;
  for (const Value& input : inputs) {
    const std::size_t end = std::min(left.find(',', begin), left.size());
    equation.inputs.push_back(labels_of(left.substr(begin, end - begin), input.shape().size()));
    begin = std::min(end + 1, left.size());
    widest = std::max(widest, static_cast<std::size_t>(std::count_if(equation.inputs.back().begin(),
                                                                     equation.inputs.back().end(),
                                                                     [](int l) { return l >= kEllipsis; })));
  }
  if (arrow != std::string::npos) {
    const std::string right = text.substr(arrow + 2);
    const auto letters = static_cast<std::size_t>(std::count_if(
        right.begin(), right.end(), [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }));
    equation.output = labels_of(right, letters + widest);
    return equation;
  }
  std::map<int, int> seen;  // without an arrow: the labels that stand once, in alphabetical order
  for (const auto& labels : equation.inputs) {
    for (const int label : labels) {
      ++seen[label];
    }
  }
  for (std::size_t left_over = widest; left_over > 0; --left_over) {
    equation.output.push_back(kEllipsis + static_cast<int>(left_over) - 1);
  }
  for (const auto& [label, times] : seen) {
    if (label < kEllipsis && times == 1) {
      equation.output.push_back(label);
    }
  }
  return equation;
}

Outputs einsum(const Call& call) {
  const Equation equation = parse(call.node.string_attribute("equation", ""), call.inputs);
  std::map<int, std::int64_t> extents;
  std::vector<int> order = equation.output;
  for (std::size_t n = 0; n < call.inputs.size(); ++n) {
    if (equation.inputs[n].size() != call.input(n).shape().size()) {
      return call.wrong("has an equation that does not fit its inputs");
    }
    for (std::size_t axis = 0; axis < equation.inputs[n].size(); ++axis) {
      const int label = equation.inputs[n][axis];
      extents[label] = std::max(extents[label], call.input(n).shape()[axis]);
      if (std::find(order.begin(), order.end(), label) == order.end()) {
        order.push_back(label);
      }
    }
  }
  // Steps through all labels, the output's first; strides of each input by label (a repeated label adds up).
  Shape all;
  std::vector<std::vector<std::size_t>> steps(call.inputs.size(), std::vector<std::size_t>(order.size(), 0));
  for (std::size_t l = 0; l < order.size(); ++l) {
    all.push_back(extents.at(order[l]));
    for (std::size_t n = 0; n < call.inputs.size(); ++n) {
      const auto strides = strides_of(call.input(n).shape());
      for (std::size_t axis = 0; axis < strides.size(); ++axis) {
        steps[n][l] +=
            equation.inputs[n][axis] == order[l] && call.input(n).shape()[axis] != 1 ? strides[axis] : 0;
      }
    }
  }
  const Shape shape(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(equation.output.size()));
  const std::size_t summed = element_count(std::span(all).subspan(shape.size()));
  std::vector<double> out(element_count(shape), 0);
  parallel_for(out.size(), std::max<std::size_t>(1, 16384 / (summed + 1)),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin * summed; i < end * summed; ++i) {
                   double product = 1;
                   for (std::size_t n = 0; n < call.inputs.size(); ++n) {
                     std::size_t rest = i, at = 0;
                     for (std::size_t l = all.size(); l-- > 0;) {
                       at += rest % static_cast<std::size_t>(all[l]) * steps[n][l];
                       rest /= static_cast<std::size_t>(all[l]);
                     }
                     product *= call.input(n).number(at);
                   }
                   out[i / summed] += product;
                 }
               });
  if (call.input(0).real()) {
    return std::vector{Value::reals(shape, std::move(out), call.input(0).type())};
  }
  return std::vector{Value::ints(shape, {out.begin(), out.end()}, call.input(0).type())};
}

}  // namespace

const OperatorTable& einsum_operators() {
  static const OperatorTable kTable = {{"Einsum", einsum}};
  return kTable;
}

}  // namespace touchstone
