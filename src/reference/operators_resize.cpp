// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample: axis by axis, every output element a weighted sum of input elements along the axis.
#include <algorithm>
#include <cmath>

#include "reference/operators.h"

namespace touchstone {
namespace {

struct Tap {
  std::size_t from;
  double weight;
};

// How one axis is resized.
struct AxisPlan {
  std::size_t in, out;
  double scale;
};

double source_of(const std::string& how, const AxisPlan& axis, double x) {
  const auto in = static_cast<double>(axis.in), out = static_cast<double>(axis.out);
  if (how == "align_corners") {
    return axis.out == 1 ? 0 : x * (in - 1) / (out - 1);
  }
  if (how == "asymmetric") {
    return x / axis.scale;
  }
  if (how == "pytorch_half_pixel") {
    return axis.out > 1 ? (x + 0.5) / axis.scale - 0.5 : 0;
  }
  if (how == "half_pixel_symmetric") {
    const double adjustment = out / (axis.scale * in);
    return in / 2 * (1 - adjustment) + (x + 0.5) / axis.scale - 0.5;
  }
  return (x + 0.5) / axis.scale - 0.5;
}

double nearest(const std::string& how, double x) {
  if (how == "floor") {
    return std::floor(x);
  }
  if (how == "ceil") {
    return std::ceil(x);
  }
  return how == "round_prefer_ceil" ? std::floor(x + 0.5) : std::ceil(x - 0.5);
}

// Keys' cubic convolution with the coefficient a.
double cubic(double a, double distance) {
  const double d = std::abs(distance);
  if (d <= 1) {
    return ((a + 2) * d - (a + 3)) * d * d + 1;
  }
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

std::vector<Tap> taps_of(const Call& call, const std::string& mode, double source, std::size_t extent) {
  const auto clamped = [&](double at) {
    return static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(extent) - 1));
  };
  if (mode == "nearest") {
    return {{clamped(nearest(
                 call.node.string_attribute("nearest_mode", call.opset < 11 ? "floor" : "round_prefer_floor"),
                 source)),
             1}};
  }
  const double base = std::floor(source);
  if (mode == "linear") {
    return {{clamped(base), 1 - (source - base)}, {clamped(base + 1), source - base}};
  }
  const double a = call.node.float_attribute("cubic_coeff_a", -0.75F);
  const bool exclude = call.node.int_attribute("exclude_outside", 0) != 0;
  std::vector<Tap> taps;
  double sum = 0;
  for (int step = -1; step <= 2; ++step) {
    const double at = base + step;
    const bool outside = at < 0 || at >= static_cast<double>(extent);
    taps.push_back({clamped(at), exclude && outside ? 0 : cubic(a, source - at)});
    sum += taps.back().weight;
  }
  for (Tap& tap : taps) {
    tap.weight /= exclude ? sum : 1;
  }
  return taps;
}

Value resize_axis(const Call& call, const Value& x, std::size_t axis, const AxisPlan& plan) {
  const std::string how = call.node.string_attribute("coordinate_transformation_mode",
                                                     call.opset < 11 ? "asymmetric" : "half_pixel");
  const std::string mode = call.node.string_attribute("mode", "nearest");
  Shape shape = x.shape();
  shape[axis] = static_cast<std::int64_t>(plan.out);
  const std::size_t inner = element_count(std::span(shape).subspan(axis + 1));
  const std::size_t outer = element_count(std::span(shape).first(axis));
  Value out = Value::empty_reals(shape, x.type());
  for (std::size_t j = 0; j < plan.out; ++j) {
    const auto taps = taps_of(call, mode, source_of(how, plan, static_cast<double>(j)), plan.in);
    for (std::size_t o = 0; o < outer; ++o) {
      for (std::size_t i = 0; i < inner; ++i) {
        double sum = 0;
        for (const Tap& tap : taps) {
          sum += tap.weight * x.number((o * plan.in + tap.from) * inner + i);
        }
        out.d_mutable()[(o * plan.out + j) * inner + i] = sum;
      }
    }
  }
  return out;
}

bool is_known(const Call& call) {
  return call.node.int_attribute("antialias", 0) == 0 &&
         call.node.string_attribute("keep_aspect_ratio_policy", "stretch") == "stretch" &&
         call.node.string_attribute("coordinate_transformation_mode", "") != "tf_crop_and_resize";
}

// From operator set 11 on the inputs are x, roi, scales, sizes; before, x and scales.
Outputs resize(const Call& call) {
  if (!is_known(call)) {
    return fail(Reason::kUnsupported,
                "node '{}' ({}): the reference has no antialias, aspect ratio policy or tf_crop_and_resize",
                call.node.name, call.node.op_type);
  }
  const std::size_t scales = call.opset < 11 || call.node.op_type == "Upsample" ? 1 : 2;
  const bool by_scale = call.has(scales) && call.input(scales).size() > 0;
  if (!by_scale && !call.has(3)) {
    return call.wrong("has neither scales nor sizes");
  }
  const Value& wanted = by_scale ? call.input(scales) : call.input(3);
  Value x = call.input(0);
  auto axes = call.node.ints_attribute("axes");
  for (std::size_t i = axes.size(); i < wanted.size(); ++i) {
    axes.push_back(static_cast<std::int64_t>(i));
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::size_t axis = normalize_axis(axes[i], x.rank());
    AxisPlan plan{static_cast<std::size_t>(x.shape().at(axis)), 0, 1};
    const double number = wanted.number(i);
    plan.out =
        static_cast<std::size_t>(by_scale ? std::floor(static_cast<double>(plan.in) * number) : number);
    plan.scale = by_scale ? number : number / static_cast<double>(plan.in);
    if (plan.out != plan.in || plan.scale != 1) {
      x = resize_axis(call, x, axis, plan);
    }
  }
  return std::vector{x};
}

}  // namespace

const OperatorTable& resize_operators() {
  static const OperatorTable kTable = {{"Resize", resize}, {"Upsample", resize}};
  return kTable;
}

}  // namespace touchstone
