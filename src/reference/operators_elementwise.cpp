// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "graph/half.h"
#include "reference/operators.h"

namespace touchstone {
namespace {

constexpr std::size_t kGrain = 1 << 14;

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
  parallel_for(out.size(), kGrain, [&](std::size_t begin, std::size_t end) {
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
  broadcast(a.i(), a.shape(), b.i(), b.shape(), out.i_mutable(), *shape, integer);
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
  parallel_for(from.size(), kGrain, [&](std::size_t begin, std::size_t end) {
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

// Min, Max, Sum and Mean take any number of inputs.
template <class Real, class Integer>
Outputs variadic(const Call& call, Real real, Integer integer) {
  Value sum = call.input(0);
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    const std::vector<Value> pair = {sum, call.input(i)};
    auto next = binary(Call{call.node, call.opset, pair}, real, integer);
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
        Call{call.node, call.opset, pair}, [](double x, double y) { return std::pow(x, y); }, integer_power);
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

double wrap_to(DataType type, double value) {
  // Casting a real to a narrower integer truncates; the reference keeps 64 bits and wraps as two's complement
  // does.
  const auto whole = static_cast<std::int64_t>(value);
  switch (type) {
    case DataType::kInt8:
      return static_cast<std::int8_t>(whole);
    case DataType::kUint8:
      return static_cast<std::uint8_t>(whole);
    case DataType::kInt16:
      return static_cast<std::int16_t>(whole);
    case DataType::kUint16:
      return static_cast<std::uint16_t>(whole);
    case DataType::kInt32:
      return static_cast<std::int32_t>(whole);
    case DataType::kUint32:
      return static_cast<std::uint32_t>(whole);
    default:
      return static_cast<double>(whole);
  }
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
      data[i] = x.real() ? static_cast<std::int64_t>(wrap_to(to, x.number(i))) : x.i()[i];
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

Outputs is_special(const Call& call, bool nan) {
  const Value& x = call.input(0);
  Value out = Value::empty_ints(x.shape(), DataType::kBool);
  const bool positive = call.node.int_attribute("detect_positive", 1) != 0;
  const bool negative = call.node.int_attribute("detect_negative", 1) != 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x.d()[i];
    out.i_mutable()[i] = nan ? std::isnan(v) : std::isinf(v) && (v > 0 ? positive : negative);
  }
  return std::vector{out};
}

Outputs gelu(const Call& call) {
  if (call.node.string_attribute("approximate", "none") == "tanh") {
    return unary(call, [](double x) {
      const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      return 0.5 * x * (1 + std::tanh(inner));
    });
  }
  return unary(call, [](double x) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); });
}

Outputs prelu(const Call& call) {
  return binary(
      call, [](double x, double slope) { return x < 0 ? slope * x : x; },
      [](std::int64_t x, std::int64_t slope) { return x < 0 ? slope * x : x; });
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

}  // namespace

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
      {"And", [](const Call& c) { return compare(c, [](auto x, auto y) { return x != 0 && y != 0; }); }},
      {"Or", [](const Call& c) { return compare(c, [](auto x, auto y) { return x != 0 || y != 0; }); }},
      {"Xor", [](const Call& c) { return compare(c, [](auto x, auto y) { return (x != 0) != (y != 0); }); }},
      {"Equal", [](const Call& c) { return compare(c, [](auto x, auto y) { return x == y; }); }},
      {"Greater", [](const Call& c) { return compare(c, [](auto x, auto y) { return x > y; }); }},
      {"Less", [](const Call& c) { return compare(c, [](auto x, auto y) { return x < y; }); }},
      {"GreaterOrEqual", [](const Call& c) { return compare(c, [](auto x, auto y) { return x >= y; }); }},
      {"LessOrEqual", [](const Call& c) { return compare(c, [](auto x, auto y) { return x <= y; }); }},
      {"Not",
       [](const Call& c) { return unary_any(c, [](auto x) { return static_cast<decltype(x)>(x == 0); }); }},
      {"Abs", [](const Call& c) { return unary_any(c, [](auto x) { return x < 0 ? -x : x; }); }},
      {"Neg", [](const Call& c) { return unary_any(c, [](auto x) { return -x; }); }},
      {"Sign",
       [](const Call& c) {
         return unary_any(c, [](auto x) { return static_cast<decltype(x)>((x > 0) - (x < 0)); });
       }},
      {"Exp", [](const Call& c) { return unary(c, [](double x) { return std::exp(x); }); }},
      {"Log", [](const Call& c) { return unary(c, [](double x) { return std::log(x); }); }},
      {"Sqrt", [](const Call& c) { return unary(c, [](double x) { return std::sqrt(x); }); }},
      {"Reciprocal", [](const Call& c) { return unary(c, [](double x) { return 1 / x; }); }},
      {"Erf", [](const Call& c) { return unary(c, [](double x) { return std::erf(x); }); }},
      {"Tanh", [](const Call& c) { return unary(c, [](double x) { return std::tanh(x); }); }},
      {"Sigmoid", [](const Call& c) { return unary(c, sigmoid); }},
      {"Relu", [](const Call& c) { return unary_any(c, [](auto x) { return x < 0 ? decltype(x){0} : x; }); }},
      {"LeakyRelu",
       [](const Call& c) {
         return unary(c,
                      [a = c.node.float_attribute("alpha", 0.01F)](double x) { return x < 0 ? a * x : x; });
       }},
      {"Elu",
       [](const Call& c) {
         return unary(c, [a = c.node.float_attribute("alpha", 1.0F)](double x) {
           return x < 0 ? a * std::expm1(x) : x;
         });
       }},
      {"Celu",
       [](const Call& c) {
         return unary(c, [a = static_cast<double>(c.node.float_attribute("alpha", 1.0F))](double x) {
           return std::max(0.0, x) + std::min(0.0, a * std::expm1(x / a));
         });
       }},
      {"Selu",
       [](const Call& c) {
         const double alpha = c.node.float_attribute("alpha", 1.67326319217681884765625F);
         const double gamma = c.node.float_attribute("gamma", 1.05070102214813232421875F);
         return unary(c, [=](double x) { return gamma * (x > 0 ? x : alpha * std::expm1(x)); });
       }},
      {"ThresholdedRelu",
       [](const Call& c) {
         return unary(c, [a = c.node.float_attribute("alpha", 1.0F)](double x) { return x > a ? x : 0.0; });
       }},
      {"Softplus", [](const Call& c) { return unary(c, softplus); }},
      {"Softsign", [](const Call& c) { return unary(c, [](double x) { return x / (1 + std::abs(x)); }); }},
      {"HardSigmoid",
       [](const Call& c) {
         const double alpha = c.node.float_attribute("alpha", 0.2F);
         const double beta = c.node.float_attribute("beta", 0.5F);
         return unary(c, [=](double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); });
       }},
      {"HardSwish",
       [](const Call& c) {
         return unary(c, [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); });
       }},
      {"Mish", [](const Call& c) { return unary(c, [](double x) { return x * std::tanh(softplus(x)); }); }},
      {"Gelu", gelu},
      {"PRelu", prelu},
      {"Ceil", [](const Call& c) { return unary(c, [](double x) { return std::ceil(x); }); }},
      {"Floor", [](const Call& c) { return unary(c, [](double x) { return std::floor(x); }); }},
      {"Round", [](const Call& c) { return unary(c, [](double x) { return std::nearbyint(x); }); }},
      {"Sin", [](const Call& c) { return unary(c, [](double x) { return std::sin(x); }); }},
      {"Cos", [](const Call& c) { return unary(c, [](double x) { return std::cos(x); }); }},
      {"Tan", [](const Call& c) { return unary(c, [](double x) { return std::tan(x); }); }},
      {"Asin", [](const Call& c) { return unary(c, [](double x) { return std::asin(x); }); }},
      {"Acos", [](const Call& c) { return unary(c, [](double x) { return std::acos(x); }); }},
      {"Atan", [](const Call& c) { return unary(c, [](double x) { return std::atan(x); }); }},
      {"Sinh", [](const Call& c) { return unary(c, [](double x) { return std::sinh(x); }); }},
      {"Cosh", [](const Call& c) { return unary(c, [](double x) { return std::cosh(x); }); }},
      {"Asinh", [](const Call& c) { return unary(c, [](double x) { return std::asinh(x); }); }},
      {"Acosh", [](const Call& c) { return unary(c, [](double x) { return std::acosh(x); }); }},
      {"Atanh", [](const Call& c) { return unary(c, [](double x) { return std::atanh(x); }); }},
      {"IsNaN", [](const Call& c) { return is_special(c, true); }},
      {"IsInf", [](const Call& c) { return is_special(c, false); }},
      {"Cast", cast},
      {"CastLike", cast_like},
      {"Clip", clip},
      {"Where", where},
  };
  return kTable;
}

}  // namespace touchstone
