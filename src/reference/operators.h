// SPDX-License-Identifier: Apache-2.0
// The reference's operators: one function each, in tables by family (operators_*.cpp).
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "reference/value.h"

namespace touchstone {

using Outputs = Result<std::vector<Value>>;

/// The graphs in a node's attributes, which If, Loop and Scan run. Both throw std::out_of_range where there
/// is no such graph.
class Bodies {
 public:
  virtual ~Bodies() = default;
  virtual const Graph& graph(const std::string& attribute) const = 0;
  /// `inputs` in the graph's order; it sees the values around the node too.
  virtual Outputs run(const std::string& attribute, std::vector<Value> inputs) const = 0;
};

/// What an operator sees of its node.
struct Call {
  const Node& node;
  int opset;
  std::span<const Value> inputs;
  const Bodies& bodies;

  /// The same call on other inputs, which must outlive it.
  Call with(std::span<const Value> others) const { return Call{node, opset, others, bodies}; }
  bool has(std::size_t index) const { return index < inputs.size() && !inputs[index].absent(); }
  /// Throws std::out_of_range where the node has fewer inputs; the interpreter makes an error of it.
  const Value& input(std::size_t index) const;
  /// Throws std::out_of_range unless the input's rank is from `least` to `most`.
  void require_rank(std::size_t index, std::int64_t least, std::int64_t most = 64) const;
  /// Throws std::out_of_range where a list has not one entry an axis.
  static void require_count(std::span<const std::int64_t> list, std::size_t count);
  /// The integers of an input, or of an attribute where older opsets have it there; `fallback` where neither
  /// is.
  std::vector<std::int64_t> ints(std::size_t index, const std::string& attribute,
                                 std::vector<std::int64_t> fallback = {}) const;
  /// The one integer of an input. Throws std::out_of_range where it holds no integer or more than one.
  std::int64_t integer(std::size_t index) const;
  /// An axis attribute, made non-negative and below `rank`. Throws std::out_of_range.
  std::size_t axis(const std::string& name, std::int64_t fallback, std::int64_t rank) const;
  /// An error that names the node.
  tl::unexpected<Error> wrong(const std::string& text) const;
};

using Operator = Outputs (*)(const Call& call);
using OperatorTable = std::map<std::string, Operator>;

/// The families; keys are operator types of the default domain, or DOMAIN.TYPE.
const OperatorTable& elementwise_operators();
const OperatorTable& unary_operators();
const OperatorTable& creation_operators();
const OperatorTable& quantization_operators();
const OperatorTable& attention_operators();
const OperatorTable& recurrent_operators();
const OperatorTable& resize_operators();
const OperatorTable& einsum_operators();
const OperatorTable& shape_operators();
const OperatorTable& index_operators();
const OperatorTable& reduce_operators();
const OperatorTable& matrix_operators();
const OperatorTable& normalization_operators();
const OperatorTable& convolution_operators();
const OperatorTable& pool_operators();
const OperatorTable& vision_operators();
const OperatorTable& signal_operators();
const OperatorTable& select_operators();
const OperatorTable& loss_operators();
const OperatorTable& control_operators();

/// The operator of a node, or null.
Operator find_operator(const Node& node);
/// All operators the reference knows.
std::vector<std::string> reference_operators();

/// Non-negative and below `rank`. Throws std::out_of_range.
std::size_t normalize_axis(std::int64_t axis, std::int64_t rank);

}  // namespace touchstone
