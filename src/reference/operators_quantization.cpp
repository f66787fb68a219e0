// SPDX-License-Identifier: Apache-2.0
// Quantised integers: to them, from them, and products of them.
#include <algorithm>
#include <cmath>

#include "reference/matrix.h"

namespace touchstone {
namespace {

struct Limits {
  double low, high;
};

Result<Limits> limits_of(const Call& call, DataType type) {
  switch (type) {
    case DataType::kUint8:
      return Limits{0, 255};
    case DataType::kInt8:
      return Limits{-128, 127};
    case DataType::kUint16:
      return Limits{0, 65535};
    case DataType::kInt16:
      return Limits{-32768, 32767};
    default:
      return fail(Reason::kUnsupported, "node '{}' ({}): the reference does not quantise to {}",
                  call.node.name, call.node.op_type, to_string(type));
  }
}

// Which element of scale (and zero point) belongs to element i of `x`: one for all, one along an axis, or one
// a block.
class ScaleIndex {
 public:
  ScaleIndex(const Call& call, const Value& x, const Value& scale) : scale_(scale) {
    if (scale.size() == 1) {
      return;
    }
    axis_ = call.axis("axis", 1, x.rank());
    block_ = static_cast<std::size_t>(call.node.int_attribute("block_size", 0));
    inner_ = element_count(std::span(x.shape()).subspan(axis_ + 1));
    extent_ = static_cast<std::size_t>(x.shape()[axis_]);
  }
  std::size_t operator()(std::size_t i) const {
    if (scale_.size() == 1) {
      return 0;
    }
    const std::size_t along = i / inner_ % extent_;
    if (block_ == 0) {
      return along;
    }
    const auto blocks = static_cast<std::size_t>(scale_.shape().at(axis_));
    return (i / inner_ / extent_ * blocks + along / block_) * inner_ + i % inner_;
  }

 private:
  const Value& scale_;
  std::size_t axis_ = 0, block_ = 0, inner_ = 1, extent_ = 1;
};

Outputs quantize(const Call& call) {
  const Value& x = call.input(0);
  const Value& scale = call.input(1);
  const auto stated = static_cast<DataType>(call.node.int_attribute("output_dtype", 0));
  const DataType type = call.has(2)                      ? call.input(2).type()
                        : stated != DataType::kUndefined ? stated
                                                         : DataType::kUint8;
  TOUCHSTONE_ASSIGN(const Limits limits, limits_of(call, type));
  const ScaleIndex at(call, x, scale);
  Value out = Value::empty_ints(x.shape(), type);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double zero = call.has(2) ? call.input(2).number(at(i)) : 0;
    const double value = std::nearbyint(x.number(i) / scale.number(at(i))) + zero;
    out.i_mutable()[i] = static_cast<std::int64_t>(std::clamp(value, limits.low, limits.high));
  }
  return std::vector{out};
}

Value dequantized(const Call& call, const Value& x, const Value& scale, const Value* zero) {
  const ScaleIndex at(call, x, scale);
  Value out = Value::empty_reals(x.shape(), scale.type());
  for (std::size_t i = 0; i < x.size(); ++i) {
    out.d_mutable()[i] = (x.number(i) - (zero != nullptr ? zero->number(at(i)) : 0)) * scale.number(at(i));
  }
  return out;
}

Outputs dequantize(const Call& call) {
  return std::vector{dequantized(call, call.input(0), call.input(1), call.has(2) ? &call.input(2) : nullptr)};
}

Outputs dynamic_quantize(const Call& call) {
  const Value& x = call.input(0);
  double low = 0, high = 0;
  for (const double v : x.d()) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  const double scale = high == low ? 1 : (high - low) / 255;
  const double zero = std::clamp(std::nearbyint(-low / scale), 0.0, 255.0);
  Value out = Value::empty_ints(x.shape(), DataType::kUint8);
  for (std::size_t i = 0; i < x.size(); ++i) {
    out.i_mutable()[i] =
        static_cast<std::int64_t>(std::clamp(std::nearbyint(x.d()[i] / scale) + zero, 0.0, 255.0));
  }
  return std::vector{out, Value::reals({}, {scale}),
                     Value::ints({}, {static_cast<std::int64_t>(zero)}, DataType::kUint8)};
}

// An integer matrix less its zero point, as doubles (exact); one zero point for all, for a row or for a
// column.
Value shifted(const Value& x, const Value* zero, bool by_row) {
  std::vector<double> out(x.size());
  const auto columns = static_cast<std::size_t>(x.shape().back());
  const auto rows = x.rank() < 2 ? std::size_t{1} : static_cast<std::size_t>(x.shape()[x.shape().size() - 2]);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t at = zero == nullptr || zero->size() == 1 ? 0
                           : by_row                             ? i / columns % rows
                                                                : i % columns;
    out[i] = x.number(i) - (zero != nullptr ? zero->number(at) : 0);
  }
  return Value::reals(x.shape(), std::move(out));
}

Outputs matmul_integer(const Call& call) {
  auto product = matmul_values(call, shifted(call.input(0), call.has(2) ? &call.input(2) : nullptr, true),
                               shifted(call.input(1), call.has(3) ? &call.input(3) : nullptr, false));
  if (!product) {
    return product;
  }
  const auto sums = product->front().d();
  return std::vector{Value::ints(product->front().shape(), {sums.begin(), sums.end()}, DataType::kInt32)};
}

Outputs qlinear_matmul(const Call& call) {
  const Value a = dequantized(call, call.input(0), call.input(1), &call.input(2));
  const Value b = dequantized(call, call.input(3), call.input(4), &call.input(5));
  const auto product = matmul_values(call, a, b);
  if (!product) {
    return product;
  }
  const std::vector<Value> inputs = {product->front(), call.input(6), call.input(7)};
  return quantize(call.with(inputs));
}

}  // namespace

const OperatorTable& quantization_operators() {
  static const OperatorTable kTable = {
      {"QuantizeLinear", quantize},
      {"DequantizeLinear", dequantize},
      {"DynamicQuantizeLinear", dynamic_quantize},
      {"MatMulInteger", matmul_integer},
      {"QLinearMatMul", qlinear_matmul},
  };
  return kTable;
}

}  // namespace touchstone
