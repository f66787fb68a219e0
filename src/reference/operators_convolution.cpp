// SPDX-License-Identifier: Apache-2.0
// Convolution over any number of spatial dimensions, and its transpose.
#include <algorithm>
#include <stdexcept>

#include "reference/gemm.h"
#include "reference/window.h"

namespace touchstone {
namespace {

Outputs convolution(const Call& call) {
  const Value& x = call.input(0);
  const Value& weights = call.input(1);
  call.require_rank(1, 3);
  const Window w = window_of(call, Shape(weights.shape().begin() + 2, weights.shape().end()));
  const auto groups = static_cast<std::size_t>(call.node.int_attribute("group", 1));
  const auto batch = static_cast<std::size_t>(x.shape()[0]);
  const auto channels = static_cast<std::size_t>(x.shape()[1]);
  const auto filters = static_cast<std::size_t>(weights.shape()[0]);
  const auto per_group = static_cast<std::size_t>(weights.shape()[1]);
  if (groups == 0 || channels != per_group * groups || filters % groups != 0) {
    return call.wrong(fmt::format("cannot convolve {} by {} in {} groups", describe(x.shape()),
                                  describe(weights.shape()), groups));
  }
  const std::size_t pixels = element_count(w.out);
  const std::size_t inner = element_count(std::span(x.shape()).subspan(2));
  const std::size_t taps = w.taps();
  Value out = Value::empty_reals(windowed_shape(x, weights.shape()[0], w), x.type());
  const auto from = x.d();
  std::vector<double> columns(per_group * taps * pixels);
  for (std::size_t n = 0; n < batch; ++n) {
    for (std::size_t g = 0; g < groups; ++g) {
      std::fill(columns.begin(), columns.end(), 0.0);
      for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
        for_each_tap(w, std::span(x.shape()).subspan(2), pixel, [&](std::size_t tap, std::size_t position) {
          for (std::size_t c = 0; c < per_group; ++c) {
            columns[(c * taps + tap) * pixels + pixel] =
                from[(n * channels + g * per_group + c) * inner + position];
          }
        });
      }
      const std::size_t first = g * (filters / groups);
      gemm(filters / groups, pixels, per_group * taps, weights.d().data() + first * per_group * taps,
           columns.data(), out.d_mutable().data() + (n * filters + first) * pixels);
    }
  }
  if (call.has(2)) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      out.d_mutable()[i] += call.input(2).d()[i / pixels % filters];
    }
  }
  return std::vector{out};
}

// The transpose of a convolution: every input element spreads its window over the output.
Window transposed_window(const Call& call, std::vector<std::int64_t> kernel) {
  const Shape& shape = call.input(0).shape();
  const std::size_t axes = kernel.size();
  call.require_rank(0, static_cast<std::int64_t>(axes) + 2, static_cast<std::int64_t>(axes) + 2);
  Window w;
  w.kernel = std::move(kernel);
  w.stride = call.node.ints_attribute("strides", std::vector<std::int64_t>(axes, 1));
  w.dilation = call.node.ints_attribute("dilations", std::vector<std::int64_t>(axes, 1));
  const auto pads = call.node.ints_attribute("pads", std::vector<std::int64_t>(2 * axes, 0));
  const auto extra = call.node.ints_attribute("output_padding", std::vector<std::int64_t>(axes, 0));
  const auto stated = call.node.ints_attribute("output_shape");
  Call::require_count(w.stride, axes);
  Call::require_count(w.dilation, axes);
  Call::require_count(pads, 2 * axes);
  Call::require_count(extra, axes);
  if (!stated.empty() && stated.size() < axes) {
    throw std::out_of_range("an output_shape has not one entry an axis");
  }
  const std::string automatic = call.node.string_attribute("auto_pad", "NOTSET");
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (w.stride[axis] < 1) {
      throw std::out_of_range("a stride is below one");
    }
    const std::int64_t reach = (w.kernel[axis] - 1) * w.dilation[axis] + 1;
    const std::int64_t whole = w.stride[axis] * (shape[axis + 2] - 1) + extra[axis] + reach;
    if (stated.empty() && !automatic.starts_with("SAME")) {
      w.before.push_back(pads[axis]);
      w.out.push_back(whole - pads[axis] - pads[axis + axes]);
      continue;
    }
    const std::int64_t out =
        stated.empty() ? shape[axis + 2] * w.stride[axis] : stated[stated.size() - axes + axis];
    const std::int64_t total = std::max<std::int64_t>(0, whole - out);
    w.before.push_back(automatic == "SAME_UPPER" ? total / 2 : total - total / 2);
    w.out.push_back(out);
  }
  check_window(w);
  return w;
}

// Adds `value` times one filter to the output plane, the window lying at input position `index`.
void spread(const Window& w, std::span<const std::int64_t> extents, std::size_t index, double value,
            std::span<const double> filter, double* plane) {
  for (std::size_t tap = 0; tap < filter.size(); ++tap) {
    std::size_t rest = tap, place = index;
    std::int64_t position = 0, stride = 1;
    bool inside = true;
    for (std::size_t axis = w.axes(); axis-- > 0;) {
      const std::int64_t at = static_cast<std::int64_t>(place) % extents[axis] * w.stride[axis] -
                              w.before[axis] +
                              static_cast<std::int64_t>(rest) % w.kernel[axis] * w.dilation[axis];
      rest /= static_cast<std::size_t>(w.kernel[axis]);
      place /= static_cast<std::size_t>(extents[axis]);
      inside = inside && at >= 0 && at < w.out[axis];
      position += at * stride;
      stride *= w.out[axis];
    }
    if (inside) {
      plane[position] += value * filter[tap];
    }
  }
}

Outputs transposed_convolution(const Call& call) {
  const Value& x = call.input(0);
  const Value& weights = call.input(1);
  call.require_rank(1, 3);
  const Window w = transposed_window(call, Shape(weights.shape().begin() + 2, weights.shape().end()));
  const auto groups = static_cast<std::size_t>(call.node.int_attribute("group", 1));
  const auto channels = static_cast<std::size_t>(x.shape()[1]);
  const auto per_group = static_cast<std::size_t>(weights.shape()[1]);
  if (groups == 0 || channels % groups != 0 || static_cast<std::size_t>(weights.shape()[0]) != channels) {
    return call.wrong(fmt::format("cannot convolve {} by {} in {} groups", describe(x.shape()),
                                  describe(weights.shape()), groups));
  }
  const std::size_t filters = per_group * groups, taps = w.taps();
  const std::size_t inner = element_count(std::span(x.shape()).subspan(2)), pixels = element_count(w.out);
  Value out = Value::empty_reals(windowed_shape(x, static_cast<std::int64_t>(filters), w), x.type());
  const auto to = out.d_mutable();
  for (std::size_t i = 0; i < to.size() && call.has(2); ++i) {
    to[i] = call.input(2).number(i / pixels % filters);
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t channel = i / inner % channels, n = i / inner / channels;
    for (std::size_t m = 0; m < per_group; ++m) {
      const std::size_t filter = channel / (channels / groups) * per_group + m;
      spread(w, std::span(x.shape()).subspan(2), i % inner, x.d()[i],
             weights.d().subspan((channel * per_group + m) * taps, taps),
             to.data() + (n * filters + filter) * pixels);
    }
  }
  return std::vector{out};
}

}  // namespace

const OperatorTable& convolution_operators() {
  static const OperatorTable kTable = {
      {"Conv", convolution},
      {"ConvTranspose", transposed_convolution},
  };
  return kTable;
}

}  // namespace touchstone
