// SPDX-License-Identifier: Apache-2.0
// Functions of one tensor, element by element: mathematics and activations.
#include <cmath>
#include <numbers>

#include "reference/elementwise.h"

namespace touchstone {
namespace {

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

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

Outputs shrink(const Call& call) {
  const double bound = call.node.float_attribute("lambd", 0.5F);
  const double bias = call.node.float_attribute("bias", 0);
  return unary(call, [=](double x) { return x < -bound ? x + bias : x > bound ? x - bias : 0; });
}

}  // namespace

const OperatorTable& unary_operators() {
  static const OperatorTable kTable = {
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
      {"Shrink", shrink},
      {"Swish",
       [](const Call& c) {
         return unary(c, [a = c.node.float_attribute("alpha", 1)](double x) { return x * sigmoid(a * x); });
       }},
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
  };
  return kTable;
}

}  // namespace touchstone
