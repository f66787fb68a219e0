// SPDX-License-Identifier: Apache-2.0
// Scaled dot-product attention: softmax(q·kᵀ·scale + mask)·v.
#include <cmath>

#include "graph/passes/pattern.h"

namespace touchstone {
namespace {

class Matcher {
 public:
  Matcher(const GraphIndex& index, const Node& root) : index_(index), root_(root) { covered_.insert(&root); }

  std::optional<Replacement> match() {
    const Node* softmax = find_softmax(root_.inputs[0]);
    if (softmax == nullptr || !over_last_axis(*softmax)) {
      return std::nullopt;
    }
    covered_.insert(softmax);
    if (!find_scores(softmax->inputs[0]) || (guarded_ && !mask_is_finite())) {
      return std::nullopt;
    }
    const std::string& v = root_.inputs[1];
    const auto rank = index_.rank(q_);
    const bool alike = rank && *rank >= 3 && index_.rank(k_) == rank && index_.rank(v) == rank;
    if (!alike || index_.type(q_) != DataType::kFloat || !mask_fits(*rank)) {
      return std::nullopt;
    }
    Replacement replacement;
    replacement.node.op_type = "ScaledDotProductAttention";
    replacement.node.domain = "touchstone";
    replacement.node.inputs = {q_, k_, v};
    if (!mask_.empty()) {
      replacement.node.inputs.push_back(mask_);
    }
    replacement.node.attributes = {{"scale", {static_cast<float>(scale_)}}};
    replacement.covered = std::move(covered_);
    return replacement;
  }

 private:
  // PyTorch's exporter guards rows that are masked as a whole: Where(IsNaN(p), 0, p).
  const Node* find_softmax(const std::string& value) {
    const Node* where = index_.made_by(value, "Where");
    if (where == nullptr) {
      return index_.made_by(value, "Softmax");
    }
    const Node* test = index_.made_by(where->inputs[0], "IsNaN");
    if (test == nullptr || test->inputs[0] != where->inputs[2] || index_.scalar(where->inputs[1]) != 0.0) {
      return nullptr;
    }
    guarded_ = true;
    covered_.insert(where);
    covered_.insert(test);
    return index_.made_by(where->inputs[2], "Softmax");
  }

  bool over_last_axis(const Node& softmax) const {
    const std::int64_t axis = softmax.int_attribute("axis", index_.graph().opset() < 13 ? 1 : -1);
    const auto rank = index_.rank(softmax.inputs[0]);
    return axis == -1 || (rank && axis == *rank - 1);
  }

  // [Add mask], scale and q·kᵀ, from the softmax up.
  bool find_scores(const std::string& value) {
    const Node* sum = index_.made_by(value, "Add");
    if (sum == nullptr) {
      return find_product(value);
    }
    covered_.insert(sum);
    for (const int side : {0, 1}) {
      if (find_product(sum->inputs[side])) {
        mask_ = sum->inputs[1 - side];
        return true;
      }
    }
    return false;
  }

  bool find_product(const std::string& value) {
    const Unscaled scores = unscaled(value);
    const Node* product = index_.made_by(scores.value, "MatMul");
    if (product == nullptr) {
      return false;
    }
    covered_.insert(product);
    scale_ = cover(scores);
    q_ = operand(product->inputs[0], *product);
    k_ = operand(product->inputs[1], *product);
    return true;
  }

  struct Unscaled {
    std::string value;
    double factor = 1;
    const Node* node = nullptr;  // the one that scales, if any
  };

  Unscaled unscaled(const std::string& value) const {
    if (const Node* quotient = index_.made_by(value, "Div")) {
      const auto divisor = index_.scalar(quotient->inputs[1]);
      return divisor ? Unscaled{quotient->inputs[0], 1 / *divisor, quotient} : Unscaled{value};
    }
    const Node* product = index_.made_by(value, "Mul");
    for (const int side : {0, 1}) {
      const auto factor = product == nullptr ? std::nullopt : index_.scalar(product->inputs[side]);
      if (factor) {
        return {product->inputs[1 - side], *factor, product};
      }
    }
    return {value};
  }

  double cover(const Unscaled& found) {
    if (found.node != nullptr) {
      covered_.insert(found.node);
    }
    return found.factor;
  }

  // q or kᵀ; where it was scaled for this product alone, the factor moves into the scale.
  std::string operand(const std::string& value, const Node& product) {
    const Unscaled found = unscaled(value);
    if (found.node == nullptr || !index_.only_read_by(value, {&product})) {
      return value;
    }
    scale_ *= cover(found);
    return found.value;
  }

  // Scores that are finite plus a finite mask never give NaN, so the guard does nothing.
  bool mask_is_finite() const {
    if (mask_.empty()) {
      return true;
    }
    const Node* choice = index_.made_by(mask_, "Where");
    const auto one = choice == nullptr ? std::nullopt : index_.scalar(choice->inputs[1]);
    const auto other = choice == nullptr ? std::nullopt : index_.scalar(choice->inputs[2]);
    return one && other && std::isfinite(*one) && std::isfinite(*other);
  }

  // Whether the mask is known not to make the scores larger by broadcasting.
  bool mask_fits(std::int64_t rank) const {
    if (mask_.empty()) {
      return true;
    }
    const auto mask = index_.shape(mask_);
    const auto q = index_.shape(q_);
    if (!mask || static_cast<std::int64_t>(mask->size()) > rank || index_.type(mask_) != DataType::kFloat) {
      return false;
    }
    // Heads and batch: dimensions of q before its last two.
    for (std::size_t i = 0; i + 2 < q->size(); ++i) {
      const std::size_t from_end = q->size() - i;
      const bool one = (*q)[i].value == 1;
      if (one && from_end <= mask->size() && (*mask)[mask->size() - from_end].value != 1) {
        return false;
      }
    }
    return true;
  }

  const GraphIndex& index_;
  const Node& root_;
  std::set<const Node*> covered_;
  bool guarded_ = false;
  double scale_ = 1;
  std::string q_;
  std::string k_;
  std::string mask_;
};

}  // namespace

std::optional<Replacement> match_attention(const GraphIndex& index, const Node& root) {
  return root.op_type == "MatMul" ? Matcher(index, root).match() : std::nullopt;
}

}  // namespace touchstone
