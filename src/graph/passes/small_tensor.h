// SPDX-License-Identifier: Apache-2.0
// Small constants as numbers, for folding.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/types.h"

namespace touchstone {

inline constexpr std::size_t kLargestFolded = 65'536;  // elements

/// A tensor of integers (booleans among them) in `ints`, or of float32 or float64 in `floats`.
struct SmallTensor {
  DataType type = DataType::kUndefined;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> ints;
  std::vector<double> floats;

  bool is_float() const { return type == DataType::kFloat || type == DataType::kDouble; }
  std::size_t size() const { return is_float() ? floats.size() : ints.size(); }
};

/// Nothing for other types, for data in files and for more than kLargestFolded elements.
std::optional<SmallTensor> small_tensor(const Constant& constant);
Constant to_constant(const SmallTensor& tensor);

/// One operator on known inputs (omitted ones are null). Nothing where it is not known here, has several
/// outputs or would grow beyond kLargestFolded. `opset` is that of the default domain.
std::optional<SmallTensor> evaluate(const Node& node, int opset,
                                    const std::vector<const SmallTensor*>& inputs);

// The parts of `evaluate`, by family.
std::optional<SmallTensor> evaluate_arithmetic(const Node& node,
                                               const std::vector<const SmallTensor*>& inputs);
std::optional<SmallTensor> evaluate_movement(const Node& node, int opset,
                                             const std::vector<const SmallTensor*>& inputs);

}  // namespace touchstone
