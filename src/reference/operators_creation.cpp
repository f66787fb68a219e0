// SPDX-License-Identifier: Apache-2.0
// Tensors made from little or nothing: constants, ranges, triangles.
#include <algorithm>
#include <cmath>

#include "graph/bundle.h"
#include "reference/movement.h"

namespace touchstone {
namespace {

Outputs range(const Call& call) {
  const double start = call.input(0).number(0);
  const double limit = call.input(1).number(0);
  const double delta = call.input(2).number(0);
  const double steps = delta == 0 ? 0 : std::ceil((limit - start) / delta);
  if (steps > 1e9) {
    return call.wrong("has more than a thousand million steps");
  }
  const auto count = static_cast<std::int64_t>(std::max(0.0, steps));
  Value out = call.input(0).real() ? Value::empty_reals({count}, call.input(0).type())
                                   : Value::empty_ints({count}, call.input(0).type());
  for (std::int64_t i = 0; i < count; ++i) {
    if (out.real()) {
      out.d_mutable()[static_cast<std::size_t>(i)] = start + static_cast<double>(i) * delta;
    } else {
      out.i_mutable()[static_cast<std::size_t>(i)] = call.integer(0) + i * call.integer(2);
    }
  }
  return std::vector{out};
}

Outputs constant_of_shape(const Call& call) {
  const auto dimensions = call.input(0).i();
  const Shape shape(dimensions.begin(), dimensions.end());
  Value fill = Value::reals({1}, {0});
  if (const auto found = call.node.attributes.find("value"); found != call.node.attributes.end()) {
    const auto& constant = std::get<Constant>(found->second.value);
    TOUCHSTONE_ASSIGN(fill, Value::from_bytes(constant.type, {1}, *constant.owned));
  }
  return std::vector{pick_elements(fill, shape, [](std::size_t) { return 0; })};
}

Outputs constant(const Call& call) {
  const auto& attributes = call.node.attributes;
  if (const auto found = attributes.find("value"); found != attributes.end()) {
    const auto& constant = std::get<Constant>(found->second.value);
    WeightMap map;
    TOUCHSTONE_ASSIGN(const auto bytes, map.bytes(constant));
    TOUCHSTONE_ASSIGN(Value value, Value::from_bytes(constant.type, constant.shape, bytes));
    return std::vector{value};
  }
  if (attributes.contains("value_int")) {
    return std::vector{Value::ints({}, {call.node.int_attribute("value_int", 0)})};
  }
  if (attributes.contains("value_float")) {
    return std::vector{Value::reals({}, {call.node.float_attribute("value_float", 0)})};
  }
  if (attributes.contains("value_ints")) {
    auto values = call.node.ints_attribute("value_ints");
    const auto count = static_cast<std::int64_t>(values.size());
    return std::vector{Value::ints({count}, std::move(values))};
  }
  if (const auto found = attributes.find("value_floats"); found != attributes.end()) {
    const auto& floats = std::get<std::vector<float>>(found->second.value);
    return std::vector{Value::reals({static_cast<std::int64_t>(floats.size())},
                                    std::vector<double>(floats.begin(), floats.end()))};
  }
  return fail(Reason::kUnsupported, "node '{}' (Constant): of a kind the reference does not read",
              call.node.name);
}

Outputs trilu(const Call& call) {
  call.require_rank(0, 2);
  const Value& x = call.input(0);
  const std::int64_t k = call.has(1) ? call.integer(1) : 0;
  const bool upper = call.node.int_attribute("upper", 1) != 0;
  const std::int64_t columns = x.shape().back();
  const std::int64_t rows = x.shape()[x.shape().size() - 2];
  Value out = x.real() ? Value::empty_reals(x.shape(), x.type()) : Value::empty_ints(x.shape(), x.type());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t column = static_cast<std::int64_t>(i) % columns;
    const std::int64_t row = static_cast<std::int64_t>(i) / columns % rows;
    const bool kept = upper ? column >= row + k : column <= row + k;
    if (kept && x.real()) {
      out.d_mutable()[i] = x.d()[i];
    } else if (kept) {
      out.i_mutable()[i] = x.i()[i];
    }
  }
  return std::vector{out};
}

Outputs eye_like(const Call& call) {
  const Value& x = call.input(0);
  const auto type =
      static_cast<DataType>(call.node.int_attribute("dtype", static_cast<std::int64_t>(x.type())));
  const std::int64_t k = call.node.int_attribute("k", 0);
  const std::int64_t columns = x.shape().at(1);
  Value out = is_real(type) ? Value::empty_reals(x.shape(), type) : Value::empty_ints(x.shape(), type);
  for (std::int64_t row = 0; row < x.shape()[0]; ++row) {
    const std::int64_t column = row + k;
    if (column < 0 || column >= columns) {
      continue;
    }
    const auto at = static_cast<std::size_t>(row * columns + column);
    is_real(type) ? void(out.d_mutable()[at] = 1) : void(out.i_mutable()[at] = 1);
  }
  return std::vector{out};
}

}  // namespace

const OperatorTable& creation_operators() {
  static const OperatorTable kTable = {
      {"Range", range},      {"ConstantOfShape", constant_of_shape}, {"Constant", constant}, {"Trilu", trilu},
      {"EyeLike", eye_like},
  };
  return kTable;
}

}  // namespace touchstone
