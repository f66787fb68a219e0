// SPDX-License-Identifier: Apache-2.0
// What the families of elementwise operators share: broadcasting, and one function over all elements.
#pragma once

#include <algorithm>

#include "reference/operators.h"

namespace touchstone {

inline constexpr std::size_t kElementGrain = 1 << 14;

// Walks the positions of two broadcast operands along a flat range of the output.
class Walker {
 public:
  Walker(const Shape& a, const Shape& b, const Shape& out, std::size_t begin)
      : shape_(out), a_(broadcast_strides(a, out)), b_(broadcast_strides(b, out)), index_(out.size(), 0) {
    for (std::size_t axis = out.size(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(out[axis]);
      index_[axis] = begin % extent;
      begin /= extent;
      a_at += index_[axis] * a_[axis];
      b_at += index_[axis] * b_[axis];
    }
  }
  void next() {
    for (std::size_t axis = shape_.size(); axis-- > 0;) {
      a_at += a_[axis];
      b_at += b_[axis];
      if (++index_[axis] < static_cast<std::size_t>(shape_[axis])) {
        return;
      }
      a_at -= a_[axis] * index_[axis];
      b_at -= b_[axis] * index_[axis];
      index_[axis] = 0;
    }
  }
  std::size_t a_at = 0, b_at = 0;

 private:
  const Shape& shape_;
  std::vector<std::size_t> a_, b_, index_;
};

template <class In, class Out, class Function>
void broadcast(std::span<const In> a, const Shape& a_shape, std::span<const In> b, const Shape& b_shape,
               std::span<Out> out, const Shape& out_shape, Function function) {
  parallel_for(out.size(), kElementGrain, [&](std::size_t begin, std::size_t end) {
    if (a_shape == b_shape) {
      for (std::size_t i = begin; i < end; ++i) {
        out[i] = static_cast<Out>(function(a[i], b[i]));
      }
      return;
    }
    Walker walker(a_shape, b_shape, out_shape, begin);
    for (std::size_t i = begin; i < end; ++i, walker.next()) {
      out[i] = static_cast<Out>(function(a[walker.a_at], b[walker.b_at]));
    }
  });
}

/// An integer as a narrower type holds it: wrapped as two's complement does.
std::int64_t wrap_integer(DataType type, std::int64_t value);

// real: double × double → double; integer: int64 × int64 → int64.
template <class Real, class Integer>
Outputs binary(const Call& call, Real real, Integer integer) {
  const Value& a = call.input(0);
  const Value& b = call.input(1);
  const auto shape = broadcast_shapes(a.shape(), b.shape());
  if (!shape) {
    return call.wrong(shape.error().message);
  }
  if (a.real() != b.real()) {
    return call.wrong("its inputs are of different kinds");
  }
  if (a.real()) {
    Value out = Value::empty_reals(*shape, a.type());
    broadcast(a.d(), a.shape(), b.d(), b.shape(), out.d_mutable(), *shape, real);
    return std::vector{out};
  }
  Value out = Value::empty_ints(*shape, a.type());
  broadcast(a.i(), a.shape(), b.i(), b.shape(), out.i_mutable(), *shape,
            [&](std::int64_t x, std::int64_t y) { return wrap_integer(a.type(), integer(x, y)); });
  return std::vector{out};
}

template <class Function>
Outputs compare(const Call& call, Function function) {
  const Value& a = call.input(0);
  const Value& b = call.input(1);
  const auto shape = broadcast_shapes(a.shape(), b.shape());
  if (!shape) {
    return call.wrong(shape.error().message);
  }
  Value out = Value::empty_ints(*shape, DataType::kBool);
  if (a.real() && b.real()) {
    broadcast(a.d(), a.shape(), b.d(), b.shape(), out.i_mutable(), *shape, function);
  } else if (!a.real() && !b.real()) {
    broadcast(a.i(), a.shape(), b.i(), b.shape(), out.i_mutable(), *shape, function);
  } else {
    return call.wrong("its inputs are of different kinds");
  }
  return std::vector{out};
}

template <class Function>
Outputs unary(const Call& call, Function function) {
  const Value& x = call.input(0);
  if (!x.real()) {
    return call.wrong("wants a floating-point input");
  }
  Value out = Value::empty_reals(x.shape(), x.type());
  const auto from = x.d();
  const auto to = out.d_mutable();
  parallel_for(from.size(), kElementGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      to[i] = function(from[i]);
    }
  });
  return std::vector{out};
}

template <class Function>
Outputs unary_any(const Call& call, Function function) {
  const Value& x = call.input(0);
  if (x.real()) {
    return unary(call, function);
  }
  Value out = Value::empty_ints(x.shape(), x.type());
  std::transform(x.i().begin(), x.i().end(), out.i_mutable().begin(), function);
  return std::vector{out};
}

}  // namespace touchstone
