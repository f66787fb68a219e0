// SPDX-License-Identifier: Apache-2.0
// Building an output out of elements of an input.
#pragma once

#include "reference/operators.h"

namespace touchstone {

// Builds the output element by element: `from(i)` is the position in `x` of output element i.
template <class From>
Value pick_elements(const Value& x, const Shape& shape, From from) {
  const std::size_t count = element_count(shape);
  if (x.real()) {
    Value out = Value::empty_reals(shape, x.type());
    const auto source = x.d();
    const auto target = out.d_mutable();
    parallel_for(count, 1 << 14, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        target[i] = source[from(i)];
      }
    });
    return out;
  }
  Value out = Value::empty_ints(shape, x.type());
  for (std::size_t i = 0; i < count; ++i) {
    out.i_mutable()[i] = x.i()[from(i)];
  }
  return out;
}

// The position in a tensor read with these strides, of flat index `i` of `shape`.
inline std::size_t position(std::size_t i, const Shape& shape, const std::vector<std::size_t>& strides) {
  std::size_t at = 0;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    at += i % extent * strides[axis];
    i /= extent;
  }
  return at;
}

/// Uninitialised, of the type of `x`.
inline Value empty_like(const Value& x, Shape shape) {
  return x.real() ? Value::empty_reals(std::move(shape), x.type())
                  : Value::empty_ints(std::move(shape), x.type());
}

}  // namespace touchstone
