// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "reference/elementwise.h"

namespace touchstone {
namespace {

// Min, Max, Sum and Mean take any number of inputs.
template <class Real, class Integer>
Outputs variadic(const Call& call, Real real, Integer integer) {
  Value sum = call.input(0);
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    const std::vector<Value> pair = {sum, call.input(i)};
    auto next = binary(call.with(pair), real, integer);
    if (!next) {
      return next;
    }
    sum = next->front();
  }
  return std::vector{sum};
}

Outputs mean(const Call& call) {
  auto sum = variadic(call, std::plus<double>(), std::plus<std::int64_t>());
  if (sum) {
    for (double& value : sum->front().d_mutable()) {
      value /= static_cast<double>(call.inputs.size());
    }
  }
  return sum;
}

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (std::int64_t i = 0; i < exponent; ++i) {
    result *= base;
  }
  return result;
}

Outputs power(const Call& call) {
  // The exponent may be of another type than the base; the result is of the base's.
  if (call.input(0).real() != call.input(1).real()) {
    std::vector<double> exponent(call.input(1).size());
    for (std::size_t i = 0; i < exponent.size(); ++i) {
      exponent[i] = call.input(1).number(i);
    }
    std::vector<double> base(call.input(0).size());
    for (std::size_t i = 0; i < base.size(); ++i) {
      base[i] = call.input(0).number(i);
    }
    const std::vector<Value> pair = {Value::reals(call.input(0).shape(), std::move(base)),
                                     Value::reals(call.input(1).shape(), std::move(exponent))};
    auto out = binary(
        call.with(pair), [](double x, double y) { return std::pow(x, y); }, integer_power);
    if (out && !call.input(0).real()) {
      const auto values = out->front().d();
      std::vector<std::int64_t> whole(values.begin(), values.end());
      return std::vector{Value::ints(out->front().shape(), std::move(whole), call.input(0).type())};
    }
    return out;
  }
  return binary(
      call, [](double x, double y) { return std::pow(x, y); }, integer_power);
}

Outputs modulo(const Call& call) {
  if (call.node.int_attribute("fmod", 0) != 0) {
    return binary(
        call, [](double x, double y) { return std::fmod(x, y); },
        [](std::int64_t x, std::int64_t y) { return y == 0 ? 0 : x % y; });
  }
  return binary(
      call,
      [](double x, double y) {
        const double rest = std::fmod(x, y);
        return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
      },
      [](std::int64_t x, std::int64_t y) {
        const std::int64_t rest = y == 0 ? 0 : x % y;
        return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
      });
}

Outputs cast_to(const Call& call, DataType to) {
  const Value& x = call.input(0);
  if (is_real(to)) {
    if (x.real()) {
      return std::vector{x.retyped(to)};  // among floating types the reference keeps double
    }
    std::vector<double> data(x.i().begin(), x.i().end());
    return std::vector{Value::reals(x.shape(), std::move(data), to)};
  }
  if (bits(to) == 0 || bits(to) > 64) {
    return fail(Reason::kUnsupported, "node '{}' (Cast): the reference does not cast to {}", call.node.name,
                to_string(to));
  }
  std::vector<std::int64_t> data(x.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (to == DataType::kBool) {
      data[i] = x.number(i) != 0 ? 1 : 0;
    } else {
      data[i] = wrap_integer(to, x.real() ? static_cast<std::int64_t>(x.number(i)) : x.i()[i]);
    }
  }
  return std::vector{Value::ints(x.shape(), std::move(data), to)};
}

Outputs cast(const Call& call) {
  return cast_to(call, static_cast<DataType>(call.node.int_attribute("to", 1)));
}
Outputs cast_like(const Call& call) {
  return cast_to(call, call.input(1).type());
}

Outputs clip(const Call& call) {
  const Value& x = call.input(0);
  const auto bound = [&](std::size_t index, const char* name, double fallback) {
    if (call.has(index)) {
      return call.input(index).number(0);
    }
    return static_cast<double>(call.node.float_attribute(name, static_cast<float>(fallback)));
  };
  const double low = bound(1, "min", -std::numeric_limits<float>::infinity());
  const double high = bound(2, "max", std::numeric_limits<float>::infinity());
  if (x.real()) {
    return unary(call, [=](double v) { return std::min(std::max(v, low), high); });
  }
  return unary_any(call, [=](auto v) {
    return static_cast<decltype(v)>(std::min(std::max(static_cast<double>(v), low), high));
  });
}

Outputs where(const Call& call) {
  const Value& condition = call.input(0);
  const Value& a = call.input(1);
  const Value& b = call.input(2);
  auto shape = broadcast_shapes(a.shape(), b.shape());
  if (shape) {
    shape = broadcast_shapes(condition.shape(), *shape);
  }
  if (!shape) {
    return call.wrong(shape.error().message);
  }
  const std::size_t count = element_count(*shape);
  Walker ab(a.shape(), b.shape(), *shape, 0);
  Walker c(condition.shape(), condition.shape(), *shape, 0);
  Value out = a.real() ? Value::empty_reals(*shape, a.type()) : Value::empty_ints(*shape, a.type());
  for (std::size_t i = 0; i < count; ++i, ab.next(), c.next()) {
    const bool first = condition.i()[c.a_at] != 0;
    if (a.real()) {
      out.d_mutable()[i] = first ? a.d()[ab.a_at] : b.d()[ab.b_at];
    } else {
      out.i_mutable()[i] = first ? a.i()[ab.a_at] : b.i()[ab.b_at];
    }
  }
  return std::vector{out};
}

Outputs prelu(const Call& call) {
  return binary(
      call, [](double x, double slope) { return x < 0 ? slope * x : x; },
      [](std::int64_t x, std::int64_t slope) { return x < 0 ? slope * x : x; });
}

// Integer operators on bits; the real half is never reached, as the specification has none.
template <class Function>
Outputs bits_of(const Call& call, Function function) {
  if (call.input(0).real() || call.input(1).real()) {
    return call.wrong("wants integers");
  }
  return binary(call, std::plus<double>(), function);
}

Outputs bit_shift(const Call& call) {
  using I = std::int64_t;
  const auto shift = [left = call.node.string_attribute("direction", "LEFT") == "LEFT"](I x, I by) {
    const auto pattern = static_cast<std::uint64_t>(x);
    return by < 0 || by > 63 ? I{0} : static_cast<I>(left ? pattern << by : pattern >> by);
  };
  return bits_of(call, shift);
}

Outputs bitwise_not(const Call& call) {
  std::vector<std::int64_t> out(call.input(0).i().begin(), call.input(0).i().end());
  for (std::int64_t& value : out) {
    value = wrap_integer(call.input(0).type(), ~value);
  }
  return std::vector{Value::ints(call.input(0).shape(), std::move(out), call.input(0).type())};
}

}  // namespace

std::int64_t wrap_integer(DataType type, std::int64_t value) {
  switch (type) {
    case DataType::kInt8:
      return static_cast<std::int8_t>(value);
    case DataType::kUint8:
      return static_cast<std::uint8_t>(value);
    case DataType::kInt16:
      return static_cast<std::int16_t>(value);
    case DataType::kUint16:
      return static_cast<std::uint16_t>(value);
    case DataType::kInt32:
      return static_cast<std::int32_t>(value);
    case DataType::kUint32:
      return static_cast<std::uint32_t>(value);
    default:
      return value;
  }
}

const OperatorTable& elementwise_operators() {
  using I = std::int64_t;
  static const OperatorTable kTable = {
      {"Add", [](const Call& c) { return binary(c, std::plus<double>(), std::plus<I>()); }},
      {"Sub", [](const Call& c) { return binary(c, std::minus<double>(), std::minus<I>()); }},
      {"Mul", [](const Call& c) { return binary(c, std::multiplies<double>(), std::multiplies<I>()); }},
      {"Div",
       [](const Call& c) {
         return binary(c, std::divides<double>(), [](I x, I y) { return y == 0 ? 0 : x / y; });
       }},
      {"Pow", power},
      {"Mod", modulo},
      {"Min",
       [](const Call& c) {
         return variadic(
             c, [](double x, double y) { return std::isnan(y) || y < x ? y : x; },
             [](I x, I y) { return std::min(x, y); });
       }},
      {"Max",
       [](const Call& c) {
         return variadic(
             c, [](double x, double y) { return std::isnan(y) || y > x ? y : x; },
             [](I x, I y) { return std::max(x, y); });
       }},
      {"Sum", [](const Call& c) { return variadic(c, std::plus<double>(), std::plus<I>()); }},
      {"Mean", mean},
      {"BitwiseAnd", [](const Call& c) { return bits_of(c, std::bit_and<I>()); }},
      {"BitwiseOr", [](const Call& c) { return bits_of(c, std::bit_or<I>()); }},
      {"BitwiseXor", [](const Call& c) { return bits_of(c, std::bit_xor<I>()); }},
      {"BitwiseNot", bitwise_not},
      {"BitShift", bit_shift},
      {"And", [](const Call& c) { return compare(c, [](auto x, auto y) { return x != 0 && y != 0; }); }},
      {"Or", [](const Call& c) { return compare(c, [](auto x, auto y) { return x != 0 || y != 0; }); }},
      {"Xor", [](const Call& c) { return compare(c, [](auto x, auto y) { return (x != 0) != (y != 0); }); }},
      {"Equal", [](const Call& c) { return compare(c, [](auto x, auto y) { return x == y; }); }},
      {"Greater", [](const Call& c) { return compare(c, [](auto x, auto y) { return x > y; }); }},
      {"Less", [](const Call& c) { return compare(c, [](auto x, auto y) { return x < y; }); }},
      {"GreaterOrEqual", [](const Call& c) { return compare(c, [](auto x, auto y) { return x >= y; }); }},
      {"LessOrEqual", [](const Call& c) { return compare(c, [](auto x, auto y) { return x <= y; }); }},
      {"PRelu", prelu},
      {"Cast", cast},
      {"CastLike", cast_like},
      {"Clip", clip},
      {"Where", where},
  };
  return kTable;
}

}  // namespace touchstone
