// SPDX-License-Identifier: Apache-2.0
// LayerNormalization over the last axis, as exporters spell it out.
#include "graph/passes/pattern.h"

namespace touchstone {
namespace {

class Matcher {
 public:
  Matcher(const GraphIndex& index, const Node& root) : index_(index), root_(root) { take(&root); }

  // Add(Mul(normalised, gain), bias): PyTorch and our own.
  std::optional<Replacement> plain() {
    for (const int side : {0, 1}) {
      const Node* scaled = index_.made_by(root_.inputs[side], "Mul");
      for (const int other : {0, 1}) {
        if (scaled != nullptr && normalised(scaled->inputs[other])) {
          take(scaled);
          return finish(scaled->inputs[1 - other], root_.inputs[1 - side]);
        }
      }
    }
    return std::nullopt;
  }

  // Add(Mul(x, inverse), Sub(bias, Mul(mean, inverse))) with inverse = gain / deviation: TensorFlow.
  std::optional<Replacement> folded() {
    for (const int side : {0, 1}) {
      const Node* scaled = index_.made_by(root_.inputs[side], "Mul");
      const Node* offset = index_.made_by(root_.inputs[1 - side], "Sub");
      const Node* shift = offset == nullptr ? nullptr : index_.made_by(offset->inputs[1], "Mul");
      for (const int other : {0, 1}) {
        if (scaled == nullptr || shift == nullptr || !is_shift(*shift, scaled->inputs[1 - other])) {
          continue;
        }
        const Node* inverse = index_.made_by(scaled->inputs[1 - other], "Mul");
        for (const int gain : {0, 1}) {
          const auto deviation = inverse == nullptr ? std::nullopt : reciprocal(inverse->inputs[1 - gain]);
          if (deviation && is_deviation(*deviation) && x_ == scaled->inputs[other] && mean_ == shift_mean_) {
            take(scaled), take(offset), take(shift), take(inverse);
            return finish(inverse->inputs[gain], offset->inputs[0]);
          }
        }
      }
    }
    return std::nullopt;
  }

 private:
  void take(const Node* node) { covered_.insert(node); }

  // (x - mean) / deviation.
  bool normalised(const std::string& value) {
    if (const Node* quotient = index_.made_by(value, "Div")) {
      take(quotient);
      return is_deviation(quotient->inputs[1]) && is_centred(quotient->inputs[0]);
    }
    const Node* product = index_.made_by(value, "Mul");
    for (const int side : {0, 1}) {
      const auto deviation = product == nullptr ? std::nullopt : reciprocal(product->inputs[side]);
      if (deviation && is_deviation(*deviation)) {
        take(product);
        return is_centred(product->inputs[1 - side]);
      }
    }
    return false;
  }

  // The value whose reciprocal this is.
  std::optional<std::string> reciprocal(const std::string& value) {
    if (const Node* node = index_.made_by(value, "Reciprocal")) {
      take(node);
      return node->inputs[0];
    }
    const Node* quotient = index_.made_by(value, "Div");
    if (quotient != nullptr && index_.scalar(quotient->inputs[0]) == 1.0) {
      take(quotient);
      return quotient->inputs[1];
    }
    return std::nullopt;
  }

  // sqrt(mean((x - mean)^2) + epsilon); finds x, mean and epsilon.
  bool is_deviation(const std::string& value) {
    const Node* root = index_.made_by(value, "Sqrt");
    const Node* sum = root == nullptr ? nullptr : index_.made_by(root->inputs[0], "Add");
    for (const int side : {0, 1}) {
      const auto epsilon = sum == nullptr ? std::nullopt : index_.scalar(sum->inputs[side]);
      const Node* variance = epsilon ? mean_of(sum->inputs[1 - side]) : nullptr;
      const auto centred = variance == nullptr ? std::nullopt : square_root(variance->inputs[0]);
      if (centred && find_x(*centred)) {
        take(root), take(sum), take(variance);
        epsilon_ = *epsilon;
        return true;
      }
    }
    return false;
  }

  // The value whose square this is.
  std::optional<std::string> square_root(const std::string& value) {
    const Node* product = index_.made_by(value, "Mul");
    if (product != nullptr && product->inputs[0] == product->inputs[1]) {
      take(product);
      return product->inputs[0];
    }
    const Node* power = index_.made_by(value, "Pow");
    if (power == nullptr) {
      return std::nullopt;
    }
    const auto whole = index_.integers(power->inputs[1]);
    const bool two =
        index_.scalar(power->inputs[1]) == 2.0 || (whole && *whole == std::vector<std::int64_t>{2});
    take(power);
    return two ? std::optional(power->inputs[0]) : std::nullopt;
  }

  bool find_x(const std::string& centred) {
    const Node* difference = index_.made_by(centred, "Sub");
    const Node* mean = difference == nullptr ? nullptr : mean_of(difference->inputs[1]);
    if (mean == nullptr || mean->inputs[0] != difference->inputs[0]) {
      return false;
    }
    x_ = difference->inputs[0];
    mean_ = difference->inputs[1];
    take(difference), take(mean);
    return true;
  }

  // Some exporters subtract the mean twice.
  bool is_centred(const std::string& value) {
    const Node* difference = index_.made_by(value, "Sub");
    take(difference);
    return difference != nullptr && difference->inputs[0] == x_ && difference->inputs[1] == mean_;
  }

  bool is_shift(const Node& shift, const std::string& inverse) {
    for (const int side : {0, 1}) {
      if (shift.inputs[side] == inverse) {
        shift_mean_ = shift.inputs[1 - side];
        return true;
      }
    }
    return false;
  }

  // A ReduceMean over the last axis that keeps it.
  const Node* mean_of(const std::string& value) const {
    const Node* node = index_.made_by(value, "ReduceMean");
    if (node == nullptr || node->int_attribute("keepdims", 1) != 1) {
      return nullptr;
    }
    const auto axes = node->inputs.size() > 1 ? index_.integers(node->inputs[1])
                                              : std::optional(node->ints_attribute("axes"));
    const auto rank = index_.rank(node->inputs[0]);
    const bool last =
        axes && axes->size() == 1 && (axes->front() == -1 || (rank && axes->front() == *rank - 1));
    return last ? node : nullptr;
  }

  bool is_row(const std::string& value, std::int64_t width) const {
    const auto shape = index_.shape(value);
    return index_.constant(value) != nullptr && shape && shape->size() == 1 && shape->front().value == width;
  }

  std::optional<Replacement> finish(const std::string& gain, const std::string& bias) {
    const auto width = index_.width(x_);
    // Beyond float32 the operator's own rules of precision (stash_type) would change results.
    if (!width || !is_row(gain, *width) || !is_row(bias, *width) || index_.type(x_) != DataType::kFloat) {
      return std::nullopt;
    }
    Replacement replacement;
    replacement.node.op_type = "LayerNormalization";
    replacement.node.inputs = {x_, gain, bias};
    replacement.node.attributes = {{"axis", {std::int64_t{-1}}}, {"epsilon", {static_cast<float>(epsilon_)}}};
    covered_.erase(nullptr);
    replacement.covered = std::move(covered_);
    return replacement;
  }

  const GraphIndex& index_;
  const Node& root_;
  std::set<const Node*> covered_;
  std::string x_;
  std::string mean_;
  std::string shift_mean_;
  double epsilon_ = 0;
};

}  // namespace

std::optional<Replacement> match_layer_normalization(const GraphIndex& index, const Node& root) {
  return root.op_type == "Add" ? Matcher(index, root).plain() : std::nullopt;
}

std::optional<Replacement> match_folded_layer_normalization(const GraphIndex& index, const Node& root) {
  return root.op_type == "Add" ? Matcher(index, root).folded() : std::nullopt;
}

}  // namespace touchstone
