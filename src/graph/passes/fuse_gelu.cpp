// SPDX-License-Identifier: Apache-2.0
// Gelu: x/2 · (1 + erf(x/√2)), and its approximation by tanh, in any order of factors.
#include <array>
#include <cmath>

#include "graph/passes/pattern.h"

namespace touchstone {
namespace {

using Polynomial = std::array<double, 4>;  // coefficients of 1, x, x², x³

constexpr int kDeepest = 8;
constexpr double kRounding = 1e-6;  // constants were rounded to float32, some of them twice

std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
  Polynomial result = {};
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      if (i + j < result.size()) {
        result[i + j] += a[i] * b[j];
      } else if (a[i] != 0 && b[j] != 0) {
        return std::nullopt;
      }
    }
  }
  return result;
}

class Matcher {
 public:
  Matcher(const GraphIndex& index, const Node& root) : index_(index), root_(root) {}

  std::optional<Replacement> match() {
    // The three factors x, 1/2 and 1 + erf lie in two products; either operand of the root may be the other.
    for (const int side : {0, 1}) {
      const Node* inner = index_.maker(root_.inputs[side]);
      if (inner == nullptr || !inner->domain.empty()) {
        continue;
      }
      std::vector<std::string> factors = {root_.inputs[1 - side], inner->inputs[0]};
      double half = 1;
      if (inner->op_type == "Mul") {
        factors.push_back(inner->inputs[1]);
      } else if (const auto divisor =
                     inner->op_type == "Div" ? index_.scalar(inner->inputs[1]) : std::nullopt) {
        half = 1 / *divisor;
      } else {
        continue;
      }
      if (auto found = from_factors(factors, half, inner)) {
        return found;
      }
    }
    return from_root_division();
  }

 private:
  // Div(Mul(x, 1 + erf), 2).
  std::optional<Replacement> from_root_division() {
    const auto divisor = root_.op_type == "Div" ? index_.scalar(root_.inputs[1]) : std::nullopt;
    const Node* inner = divisor ? index_.made_by(root_.inputs[0], "Mul") : nullptr;
    return inner == nullptr ? std::nullopt : from_factors(inner->inputs, 1 / *divisor, inner);
  }

  std::optional<Replacement> from_factors(const std::vector<std::string>& factors, double half,
                                          const Node* inner) {
    std::vector<std::string> others;
    for (const std::string& factor : factors) {
      if (const auto constant = index_.scalar(factor)) {
        half *= *constant;
      } else {
        others.push_back(factor);
      }
    }
    if (others.size() != 2 || std::abs(half - 0.5) > kRounding) {
      return std::nullopt;
    }
    for (const std::size_t gate : {0, 1}) {
      covered_ = {&root_, inner};
      x_ = others[1 - gate];
      if (const char* approximate = kind_of(others[gate]);
          approximate != nullptr && index_.type(x_) == DataType::kFloat) {
        Replacement replacement;
        replacement.node.op_type = "Gelu";
        replacement.node.inputs = {x_};
        replacement.node.attributes = {{"approximate", {std::string(approximate)}}};
        replacement.covered = covered_;
        return replacement;
      }
    }
    return std::nullopt;
  }

  // The attribute `approximate` where the value is 1 + erf(…) or 1 + tanh(…) of the right polynomial of x.
  const char* kind_of(const std::string& value) {
    const Node* sum = index_.made_by(value, "Add");
    for (const int side : {0, 1}) {
      if (sum == nullptr || index_.scalar(sum->inputs[side]) != 1.0) {
        continue;
      }
      const Node* function = index_.maker(sum->inputs[1 - side]);
      if (function == nullptr || !function->domain.empty()) {
        continue;
      }
      covered_.insert(sum);
      covered_.insert(function);
      const double root = std::sqrt(2 / M_PI);
      if (function->op_type == "Erf" && is(function->inputs[0], {0, std::sqrt(0.5), 0, 0})) {
        return "none";
      }
      if (function->op_type == "Tanh" && is(function->inputs[0], {0, root, 0, 0.044715 * root})) {
        return "tanh";
      }
    }
    return nullptr;
  }

  bool is(const std::string& value, const Polynomial& expected) {
    const auto found = polynomial(value, 0);
    for (std::size_t i = 0; found && i < expected.size(); ++i) {
      if (std::abs((*found)[i] - expected[i]) > kRounding * expected[i]) {
        return false;
      }
    }
    return found.has_value();
  }

  std::optional<Polynomial> polynomial(const std::string& value, int depth) {
    if (value == x_) {
      return Polynomial{0, 1, 0, 0};
    }
    if (const auto constant = index_.scalar(value)) {
      return Polynomial{*constant, 0, 0, 0};
    }
    const Node* node = index_.maker(value);
    if (node == nullptr || !node->domain.empty() || node->inputs.size() != 2 || depth == kDeepest) {
      return std::nullopt;
    }
    covered_.insert(node);
    const auto a = polynomial(node->inputs[0], depth + 1);
    if (!a) {
      return std::nullopt;
    }
    return node->op_type == "Pow" ? power(*a, node->inputs[1]) : combine(*node, *a, depth);
  }

  std::optional<Polynomial> combine(const Node& node, const Polynomial& a, int depth) {
    const auto b = polynomial(node.inputs[1], depth + 1);
    if (!b) {
      return std::nullopt;
    }
    if (node.op_type == "Mul") {
      return product(a, *b);
    }
    if (const auto divisor = node.op_type == "Div" ? index_.scalar(node.inputs[1]) : std::nullopt) {
      return product(a, {1 / *divisor, 0, 0, 0});
    }
    if (node.op_type != "Add" && node.op_type != "Sub") {
      return std::nullopt;
    }
    Polynomial sum = a;
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += node.op_type == "Add" ? (*b)[i] : -(*b)[i];
    }
    return sum;
  }

  std::optional<Polynomial> power(const Polynomial& base, const std::string& exponent) const {
    const auto whole = index_.integers(exponent);
    const double times = whole && whole->size() == 1 ? static_cast<double>(whole->front())
                                                     : index_.scalar(exponent).value_or(0);
    if (times != 2 && times != 3) {
      return std::nullopt;
    }
    const auto square = product(base, base);
    return square && times == 3 ? product(*square, base) : square;
  }

  const GraphIndex& index_;
  const Node& root_;
  std::set<const Node*> covered_;
  std::string x_;
};

}  // namespace

std::optional<Replacement> match_gelu(const GraphIndex& index, const Node& root) {
  const bool possible = root.op_type == "Mul" || root.op_type == "Div";
  return possible ? Matcher(index, root).match() : std::nullopt;
}

}  // namespace touchstone
