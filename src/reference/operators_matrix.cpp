// SPDX-License-Identifier: Apache-2.0
// Matrix products and attention.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/gemm.h"
#include "reference/matrix.h"

namespace touchstone {
namespace {

Matrix matrix_of(const Value& x, std::size_t offset) {
  if (!x.mapped().empty()) {
    return x.mapped().data() + offset;
  }
  return x.d().data() + offset;
}

}  // namespace

Outputs matmul_values(const Call& call, const Value& left, const Value& right) {
  if (!left.real() || !right.real() || left.rank() == 0 || right.rank() == 0) {
    return call.wrong("wants floating-point matrices");
  }
  const Value a = left.rank() == 1 ? left.reshaped({1, left.shape()[0]}) : left;
  const Value b = right.rank() == 1 ? right.reshaped({right.shape()[0], 1}) : right;
  const auto m = static_cast<std::size_t>(a.shape()[a.shape().size() - 2]);
  const auto k = static_cast<std::size_t>(a.shape().back());
  const auto n = static_cast<std::size_t>(b.shape().back());
  if (static_cast<std::size_t>(b.shape()[b.shape().size() - 2]) != k) {
    return call.wrong(
        fmt::format("cannot multiply {} by {}", describe(left.shape()), describe(right.shape())));
  }
  const Shape a_batch(a.shape().begin(), a.shape().end() - 2);
  const Shape b_batch(b.shape().begin(), b.shape().end() - 2);
  const auto batch = broadcast_shapes(a_batch, b_batch);
  if (!batch) {
    return call.wrong(batch.error().message);
  }
  Shape shape = *batch;
  shape.push_back(static_cast<std::int64_t>(m));
  shape.push_back(static_cast<std::int64_t>(n));
  Value out = Value::empty_reals(shape, a.type());
  const auto to = out.d_mutable();
  const std::size_t batches = element_count(*batch);
  if (b_batch.empty() || element_count(b_batch) == 1) {
    gemm(batches * m, n, k, a.d().data(), matrix_of(b, 0), to.data());  // one right-hand side for all rows
  } else {
    const auto a_strides = broadcast_strides(a_batch, *batch);
    const auto b_strides = broadcast_strides(b_batch, *batch);
    const auto from_a = a.d();
    const Matrix from_b = matrix_of(b, 0);
    parallel_for(batches, std::max<std::size_t>(1, (1 << 16) / (m * n * k + 1)),
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; ++i) {
                     std::size_t rest = i;
                     std::size_t a_at = 0;
                     std::size_t b_at = 0;
                     for (std::size_t axis = batch->size(); axis-- > 0;) {
                       const std::size_t index = rest % static_cast<std::size_t>((*batch)[axis]);
                       rest /= static_cast<std::size_t>((*batch)[axis]);
                       a_at += index * a_strides[axis];
                       b_at += index * b_strides[axis];
                     }
                     const Matrix block =
                         std::visit([&](const auto* data) -> Matrix { return data + b_at * k * n; }, from_b);
                     gemm(m, n, k, from_a.data() + a_at * m * k, block, to.data() + i * m * n);
                   }
                 });
  }
  if (left.rank() == 1) {
    shape.erase(shape.end() - 2);
  }
  if (right.rank() == 1) {
    shape.pop_back();
  }
  return std::vector{out.reshaped(shape)};
}

namespace {

Outputs matmul(const Call& call) {
  return matmul_values(call, call.input(0), call.input(1));
}

Value transposed(const Value& x) {
  const auto rows = static_cast<std::size_t>(x.shape()[0]);
  const auto columns = static_cast<std::size_t>(x.shape()[1]);
  std::vector<double> data(x.size());
  const auto from = x.d();
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      data[j * rows + i] = from[i * columns + j];
    }
  }
  return Value::reals({x.shape()[1], x.shape()[0]}, std::move(data), x.type());
}

Outputs gemm_operator(const Call& call) {
  call.require_rank(0, 2, 2);
  call.require_rank(1, 2, 2);
  const auto side = [&](std::size_t index, const char* attribute) {
    return call.node.int_attribute(attribute, 0) != 0 ? transposed(call.input(index)) : call.input(index);
  };
  auto product = matmul_values(call, side(0, "transA"), side(1, "transB"));
  if (!product) {
    return product;
  }
  Value& out = product->front();
  const double alpha = call.node.float_attribute("alpha", 1);
  const double beta = call.node.float_attribute("beta", 1);
  const auto to = out.d_mutable();
  const bool biased = call.has(2);
  const auto columns = static_cast<std::size_t>(out.shape()[1]);
  if (biased && broadcast_shapes(call.input(2).shape(), out.shape()) != out.shape()) {
    return call.wrong(fmt::format("adds {} to {}", describe(call.input(2).shape()), describe(out.shape())));
  }
  const auto strides =
      biased ? broadcast_strides(call.input(2).shape(), out.shape()) : std::vector<std::size_t>{0, 0};
  for (std::size_t i = 0; i < to.size(); ++i) {
    const double bias =
        biased ? call.input(2).number(i / columns * strides[0] + i % columns * strides[1]) : 0;
    to[i] = alpha * to[i] + beta * bias;
  }
  return product;
}

// touchstone.ScaledDotProductAttention(q, k transposed, v, mask): softmax(q·kᵀ·scale + mask)·v.
Outputs attention(const Call& call) {
  auto scores = matmul_values(call, call.input(0), call.input(1));
  if (!scores) {
    return scores;
  }
  Value& s = scores->front();
  const double scale = call.node.float_attribute("scale", 1);
  const auto to = s.d_mutable();
  const auto strides = call.has(3) ? broadcast_strides(call.input(3).shape(), s.shape())
                                   : std::vector<std::size_t>(s.shape().size(), 0);
  const auto width = static_cast<std::size_t>(s.shape().back());
  for (std::size_t row = 0; row < s.size() / std::max<std::size_t>(width, 1); ++row) {
    std::size_t rest = row;
    std::size_t at = 0;
    for (std::size_t axis = s.shape().size() - 1; axis-- > 0;) {
      at += rest % static_cast<std::size_t>(s.shape()[axis]) * strides[axis];
      rest /= static_cast<std::size_t>(s.shape()[axis]);
    }
    double top = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < width; ++j) {
      double& value = to[row * width + j];
      value = value * scale + (call.has(3) ? call.input(3).number(at + j * strides.back()) : 0);
      top = std::max(top, value);
    }
    double sum = 0;
    for (std::size_t j = 0; j < width; ++j) {
      sum += to[row * width + j] = std::exp(to[row * width + j] - top);
    }
    for (std::size_t j = 0; j < width; ++j) {
      to[row * width + j] /= sum;
    }
  }
  return matmul_values(call, s, call.input(2));
}

// By elimination with the largest pivot of each column.
double determinant(std::vector<double> a, std::size_t n) {
  double product = 1;
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t row = column + 1; row < n; ++row) {
      pivot = std::abs(a[row * n + column]) > std::abs(a[pivot * n + column]) ? row : pivot;
    }
    if (a[pivot * n + column] == 0) {
      return 0;
    }
    if (pivot != column) {
      std::swap_ranges(a.begin() + static_cast<std::ptrdiff_t>(pivot * n),
                       a.begin() + static_cast<std::ptrdiff_t>((pivot + 1) * n),
                       a.begin() + static_cast<std::ptrdiff_t>(column * n));
      product = -product;
    }
    product *= a[column * n + column];
    for (std::size_t row = column + 1; row < n; ++row) {
      const double factor = a[row * n + column] / a[column * n + column];
      for (std::size_t i = column; i < n; ++i) {
        a[row * n + i] -= factor * a[column * n + i];
      }
    }
  }
  return product;
}

Outputs det(const Call& call) {
  call.require_rank(0, 2);
  const Value& x = call.input(0);
  const auto n = static_cast<std::size_t>(x.shape().back());
  if (x.shape()[x.shape().size() - 2] != x.shape().back()) {
    return call.wrong(fmt::format("wants square matrices, not {}", describe(x.shape())));
  }
  Value out = Value::empty_reals(Shape(x.shape().begin(), x.shape().end() - 2), x.type());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto matrix = x.d().subspan(i * n * n, n * n);
    out.d_mutable()[i] = determinant({matrix.begin(), matrix.end()}, n);
  }
  return std::vector{out};
}

}  // namespace

const OperatorTable& matrix_operators() {
  static const OperatorTable kTable = {
      {"MatMul", matmul},
      {"Gemm", gemm_operator},
      {"Det", det},
      {"touchstone.ScaledDotProductAttention", attention},
  };
  return kTable;
}

}  // namespace touchstone
