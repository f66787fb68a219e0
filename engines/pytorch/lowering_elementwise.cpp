// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/abs.h>
#include <ATen/ops/acos.h>
#include <ATen/ops/acosh.h>
#include <ATen/ops/add.h>
#include <ATen/ops/asin.h>
#include <ATen/ops/asinh.h>
#include <ATen/ops/atan.h>
#include <ATen/ops/atanh.h>
#include <ATen/ops/bitwise_and.h>
#include <ATen/ops/bitwise_left_shift.h>
#include <ATen/ops/bitwise_not.h>
#include <ATen/ops/bitwise_or.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/bitwise_xor.h>
#include <ATen/ops/ceil.h>
#include <ATen/ops/celu.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/cosh.h>
#include <ATen/ops/div.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/floor.h>
#include <ATen/ops/fmod.h>
#include <ATen/ops/ge.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/hardswish.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/isnan.h>
#include <ATen/ops/le.h>
#include <ATen/ops/leaky_relu.h>
#include <ATen/ops/log.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/logical_or.h>
#include <ATen/ops/logical_xor.h>
#include <ATen/ops/lt.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/remainder.h>
#include <ATen/ops/round.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sign.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sinh.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tan.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/threshold.h>
#include <ATen/ops/where.h>

#include "lowering.h"

namespace touchstone::pytorch {
namespace {

using at::Tensor;

// An operator of one tensor; TorchScript knows it as torch.NAME.
template <Tensor (*Function)(const Tensor&)>
Result<Lowered> unary(const char* name) {
  return Lowered{[](const Tensors& in) { return Tensors{Function(in[0])}; },
                 call_text(std::string("torch.") + name)};
}

template <class Function>
Result<Lowered> binary(Function function, Script script = {}) {
  return Lowered{[function](const Tensors& in) { return Tensors{function(in[0], in[1])}; },
                 std::move(script)};
}

template <class Function>
Result<Lowered> variadic(Function function) {
  return Lowered{[function](const Tensors& in) {
                   Tensor sum = in[0];
                   for (std::size_t i = 1; i < in.size(); ++i) {
                     sum = function(sum, in[i]);
                   }
                   return Tensors{sum};
                 },
                 {}};
}

template <class Function>
Result<Lowered> opaque(Function function) {
  return Lowered{[function](const Tensors& in) { return Tensors{function(in[0])}; }, {}};
}

Result<Lowered> divide(const NodeContext&) {
  return binary([](const Tensor& a, const Tensor& b) {
    return a.is_floating_point() ? at::div(a, b) : at::div(a, b, "trunc");
  });
}

Result<Lowered> modulo(const NodeContext& c) {
  if (c.node.int_attribute("fmod", 0) != 0) {
    return binary([](const Tensor& a, const Tensor& b) { return at::fmod(a, b); });
  }
  return binary([](const Tensor& a, const Tensor& b) { return at::remainder(a, b); });
}

Result<Lowered> shift(const NodeContext& c) {
  if (c.node.string_attribute("direction", "LEFT") == "LEFT") {
    return binary([](const Tensor& a, const Tensor& b) { return at::bitwise_left_shift(a, b); });
  }
  return binary([](const Tensor& a, const Tensor& b) { return at::bitwise_right_shift(a, b); });
}

Result<Lowered> swish(const NodeContext& c) {
  const double alpha = c.node.float_attribute("alpha", 1);
  return opaque([alpha](const Tensor& x) { return at::mul(x, at::sigmoid(at::mul(x, alpha))); });
}

// Towards zero by `bias`; zero within `lambd` of it.
Result<Lowered> shrink(const NodeContext& c) {
  const double limit = c.node.float_attribute("lambd", 0.5F);
  const double bias = c.node.float_attribute("bias", 0);
  return opaque([=](const Tensor& x) {
    const Tensor zero = at::mul(x, 0);
    return at::where(at::gt(x, limit), at::sub(x, bias),
                     at::where(at::lt(x, -limit), at::add(x, bias), zero));
  });
}

Result<Lowered> mean_of_inputs(const NodeContext& c) {
  const auto count = static_cast<double>(c.node.inputs.size());
  return Lowered{[count](const Tensors& in) {
                   Tensor sum = in[0];
                   for (std::size_t i = 1; i < in.size(); ++i) {
                     sum = at::add(sum, in[i]);
                   }
                   return Tensors{at::div(sum, count)};
                 },
                 {}};
}

Result<Lowered> gelu(const NodeContext& c) {
  const std::string kind = c.node.string_attribute("approximate", "none");
  return Lowered{[kind](const Tensors& in) { return Tensors{at::gelu(in[0], kind)}; },
                 [kind](const std::vector<std::string>& in) {
                   return fmt::format("torch.gelu({}, approximate='{}')", in[0], kind);
                 }};
}

Result<Lowered> cast(const NodeContext& c) {
  TOUCHSTONE_ASSIGN(const at::ScalarType type,
                    scalar_type(static_cast<DataType>(c.node.int_attribute("to", 1))));
  const int number = static_cast<int>(type);
  return Lowered{
      [type](const Tensors& in) { return Tensors{in[0].to(type)}; },
      [number](const std::vector<std::string>& in) { return fmt::format("{}.to({})", in[0], number); }};
}

Result<Lowered> cast_like(const NodeContext&) {
  return Lowered{[](const Tensors& in) { return Tensors{in[0].to(in[1].scalar_type())}; }, {}};
}

Result<Lowered> clip(const NodeContext& c) {
  const auto& attributes = c.node.attributes;
  std::optional<at::Scalar> low;
  std::optional<at::Scalar> high;
  if (attributes.contains("min")) {
    low = c.node.float_attribute("min", 0);
  }
  if (attributes.contains("max")) {
    high = c.node.float_attribute("max", 0);
  }
  return Lowered{[low, high](const Tensors& in) {
                   auto bottom = low;
                   auto top = high;
                   if (in.size() > 1 && in[1].defined()) {
                     bottom = in[1].item();
                   }
                   if (in.size() > 2 && in[2].defined()) {
                     top = in[2].item();
                   }
                   return Tensors{bottom || top ? at::clamp(in[0], bottom, top) : in[0]};
                 },
                 {}};
}

Result<Lowered> where(const NodeContext&) {
  return Lowered{[](const Tensors& in) { return Tensors{at::where(in[0], in[1], in[2])}; },
                 call_text("torch.where")};
}

Result<Lowered> is_infinite(const NodeContext& c) {
  const bool positive = c.node.int_attribute("detect_positive", 1) != 0;
  const bool negative = c.node.int_attribute("detect_negative", 1) != 0;
  return opaque([=](const Tensor& x) {
    const Tensor infinite = at::isinf(x);
    if (positive && negative) {
      return infinite;
    }
    return at::logical_and(infinite, positive ? at::gt(x, 0) : at::lt(x, 0));
  });
}

Result<Lowered> hard_sigmoid(const NodeContext& c) {
  const double alpha = c.node.float_attribute("alpha", 0.2F);
  const double beta = c.node.float_attribute("beta", 0.5F);
  return opaque([=](const Tensor& x) { return at::clamp(at::add(at::mul(x, alpha), beta), 0.0, 1.0); });
}

Result<Lowered> selu(const NodeContext& c) {
  const double alpha = c.node.float_attribute("alpha", 1.67326319217681884765625F);
  const double gamma = c.node.float_attribute("gamma", 1.05070102214813232421875F);
  return opaque([=](const Tensor& x) { return at::elu(x, alpha, gamma); });
}

Result<Lowered> prelu(const NodeContext&) {
  return binary(
      [](const Tensor& x, const Tensor& slope) { return at::where(at::lt(x, 0), at::mul(x, slope), x); });
}

}  // namespace

const LoweringTable& elementwise_lowerings() {
  using C = const NodeContext&;
  static const LoweringTable kTable = {
      {"Add",
       [](C) {
         return binary([](const Tensor& a, const Tensor& b) { return at::add(a, b); }, infix_text("+"));
       }},
      {"Sub",
       [](C) {
         return binary([](const Tensor& a, const Tensor& b) { return at::sub(a, b); }, infix_text("-"));
       }},
      {"Mul",
       [](C) {
         return binary([](const Tensor& a, const Tensor& b) { return at::mul(a, b); }, infix_text("*"));
       }},
      {"Div", divide},
      {"Mod", modulo},
      {"Pow",
       [](C) {
         return binary([](const Tensor& a, const Tensor& b) { return at::pow(a, b.to(a.scalar_type())); });
       }},
      {"Min", [](C) { return variadic([](const Tensor& a, const Tensor& b) { return at::minimum(a, b); }); }},
      {"Max", [](C) { return variadic([](const Tensor& a, const Tensor& b) { return at::maximum(a, b); }); }},
      {"Sum", [](C) { return variadic([](const Tensor& a, const Tensor& b) { return at::add(a, b); }); }},
      {"Mean", mean_of_inputs},
      {"And",
       [](C) { return binary([](const Tensor& a, const Tensor& b) { return at::logical_and(a, b); }); }},
      {"Or", [](C) { return binary([](const Tensor& a, const Tensor& b) { return at::logical_or(a, b); }); }},
      {"Xor",
       [](C) { return binary([](const Tensor& a, const Tensor& b) { return at::logical_xor(a, b); }); }},
      {"BitwiseAnd",
       [](C) { return binary([](const Tensor& a, const Tensor& b) { return at::bitwise_and(a, b); }); }},
      {"BitwiseOr",
       [](C) { return binary([](const Tensor& a, const Tensor& b) { return at::bitwise_or(a, b); }); }},
      {"BitwiseXor",
       [](C) { return binary([](const Tensor& a, const Tensor& b) { return at::bitwise_xor(a, b); }); }},
      {"BitwiseNot", [](C) { return unary<at::bitwise_not>("bitwise_not"); }},
      {"BitShift", shift},
      {"Swish", swish},
      {"Shrink", shrink},
      {"Not", [](C) { return unary<at::logical_not>("logical_not"); }},
      {"Equal",
       [](C) {
         return binary([](const Tensor& a, const Tensor& b) { return at::eq(a, b); }, infix_text("=="));
       }},
      {"Greater",
       [](C) {
         return binary([](const Tensor& a, const Tensor& b) { return at::gt(a, b); }, infix_text(">"));
       }},
      {"Less",
       [](C) {
         return binary([](const Tensor& a, const Tensor& b) { return at::lt(a, b); }, infix_text("<"));
       }},
      {"GreaterOrEqual",
       [](C) {
         return binary([](const Tensor& a, const Tensor& b) { return at::ge(a, b); }, infix_text(">="));
       }},
      {"LessOrEqual",
       [](C) {
         return binary([](const Tensor& a, const Tensor& b) { return at::le(a, b); }, infix_text("<="));
       }},
      {"Abs", [](C) { return unary<at::abs>("abs"); }},
      {"Neg", [](C) { return unary<at::neg>("neg"); }},
      {"Sign", [](C) { return unary<at::sign>("sign"); }},
      {"Exp", [](C) { return unary<at::exp>("exp"); }},
      {"Log", [](C) { return unary<at::log>("log"); }},
      {"Sqrt", [](C) { return unary<at::sqrt>("sqrt"); }},
      {"Reciprocal", [](C) { return unary<at::reciprocal>("reciprocal"); }},
      {"Erf", [](C) { return unary<at::erf>("erf"); }},
      {"Tanh", [](C) { return unary<at::tanh>("tanh"); }},
      {"Sigmoid", [](C) { return unary<at::sigmoid>("sigmoid"); }},
      {"Relu", [](C) { return unary<at::relu>("relu"); }},
      {"Ceil", [](C) { return unary<at::ceil>("ceil"); }},
      {"Floor", [](C) { return unary<at::floor>("floor"); }},
      {"Sin", [](C) { return unary<at::sin>("sin"); }},
      {"Cos", [](C) { return unary<at::cos>("cos"); }},
      {"Tan", [](C) { return unary<at::tan>("tan"); }},
      {"Asin", [](C) { return unary<at::asin>("asin"); }},
      {"Acos", [](C) { return unary<at::acos>("acos"); }},
      {"Atan", [](C) { return unary<at::atan>("atan"); }},
      {"Sinh", [](C) { return unary<at::sinh>("sinh"); }},
      {"Cosh", [](C) { return unary<at::cosh>("cosh"); }},
      {"Asinh", [](C) { return unary<at::asinh>("asinh"); }},
      {"Acosh", [](C) { return unary<at::acosh>("acosh"); }},
      {"Atanh", [](C) { return unary<at::atanh>("atanh"); }},
      {"IsNaN", [](C) { return unary<at::isnan>("isnan"); }},
      {"IsInf", is_infinite},
      {"Round", [](C) { return opaque([](const Tensor& x) { return at::round(x); }); }},
      {"Gelu", gelu},
      {"LeakyRelu",
       [](C c) {
         return opaque(
             [a = c.node.float_attribute("alpha", 0.01F)](const Tensor& x) { return at::leaky_relu(x, a); });
       }},
      {"Elu",
       [](C c) {
         return opaque(
             [a = c.node.float_attribute("alpha", 1.0F)](const Tensor& x) { return at::elu(x, a); });
       }},
      {"Celu",
       [](C c) {
         return opaque(
             [a = c.node.float_attribute("alpha", 1.0F)](const Tensor& x) { return at::celu(x, a); });
       }},
      {"Selu", selu},
      {"ThresholdedRelu",
       [](C c) {
         return opaque(
             [a = c.node.float_attribute("alpha", 1.0F)](const Tensor& x) { return at::threshold(x, a, 0); });
       }},
      {"Softplus", [](C) { return opaque([](const Tensor& x) { return at::softplus(x); }); }},
      {"Softsign",
       [](C) { return opaque([](const Tensor& x) { return at::div(x, at::add(at::abs(x), 1)); }); }},
      {"HardSigmoid", hard_sigmoid},
      {"HardSwish", [](C) { return opaque([](const Tensor& x) { return at::hardswish(x); }); }},
      {"Mish", [](C) { return opaque([](const Tensor& x) { return at::mish(x); }); }},
      {"PRelu", prelu},
      {"Cast", cast},
      {"CastLike", cast_like},
      {"Clip", clip},
      {"Where", where},
  };
  return kTable;
}

}  // namespace touchstone::pytorch
