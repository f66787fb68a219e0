// SPDX-License-Identifier: Apache-2.0
// Pooling over any number of spatial dimensions, and its reverses.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "reference/window.h"

namespace touchstone {
namespace {

std::span<const std::int64_t> spatial(const Value& x) {
  return std::span(x.shape()).subspan(2);
}

// Of the kind of `x`: integers that went through doubles are whole still.
Value pooled(const Value& x, Shape shape, std::vector<double> data) {
  if (!x.real()) {
    return Value::ints(std::move(shape), {data.begin(), data.end()}, x.type());
  }
  return Value::reals(std::move(shape), std::move(data), x.type());
}

// `reduce(plane, pixel)` for every place of the window in every plane.
template <class Reduce>
Outputs pool(const Value& x, const Window& w, Reduce reduce) {
  const std::size_t planes = element_count(std::span(x.shape()).first(2));
  const std::size_t pixels = element_count(w.out);
  std::vector<double> out(planes * pixels);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = reduce(i / pixels, i % pixels);
  }
  return std::vector{pooled(x, windowed_shape(x, x.shape()[1], w), std::move(out))};
}

// The flat position in a plane as MaxPool's indices count it: rows first, or columns first.
std::int64_t counted(std::size_t position, std::span<const std::int64_t> extents, bool columns_first) {
  if (!columns_first) {
    return static_cast<std::int64_t>(position);
  }
  std::int64_t index = 0, stride = static_cast<std::int64_t>(element_count(extents));
  auto rest = static_cast<std::int64_t>(position);
  for (std::size_t axis = extents.size(); axis-- > 0;) {
    stride /= extents[axis];
    index += rest % extents[axis] * stride;
    rest /= extents[axis];
  }
  return index;
}

Outputs max_pool(const Call& call) {
  const Value& x = call.input(0);
  const Window w = window_of(call, call.node.ints_attribute("kernel_shape"));
  const std::size_t inner = element_count(spatial(x));
  const bool columns_first = call.node.int_attribute("storage_order", 0) != 0;
  std::vector<std::int64_t> indices;
  auto outputs = pool(x, w, [&](std::size_t plane, std::size_t pixel) {
    double largest = -std::numeric_limits<double>::infinity();
    std::int64_t index = -1;
    for_each_tap(w, spatial(x), pixel, [&](std::size_t, std::size_t position) {
      const double here = x.number(plane * inner + position);
      if (index < 0 || here > largest) {
        largest = std::max(largest, here);
        index = counted(position, spatial(x), columns_first);
      }
    });
    indices.push_back(static_cast<std::int64_t>(plane * inner) + index);
    return largest;
  });
  outputs->push_back(Value::ints(outputs->front().shape(), std::move(indices)));
  return outputs;
}

Outputs average_pool(const Call& call) {
  const Value& x = call.input(0);
  const Window w = window_of(call, call.node.ints_attribute("kernel_shape"));
  const std::size_t inner = element_count(spatial(x));
  const bool count_padding = call.node.int_attribute("count_include_pad", 0) != 0;
  return pool(x, w, [&](std::size_t plane, std::size_t pixel) {
    double sum = 0;
    std::size_t seen = 0;
    for_each_tap(w, spatial(x), pixel, [&](std::size_t, std::size_t position) {
      sum += x.number(plane * inner + position);
      ++seen;
    });
    return sum / static_cast<double>(count_padding ? w.taps() : std::max<std::size_t>(seen, 1));
  });
}

// The p-th root of the sum of p-th powers.
Outputs lp_pool(const Call& call) {
  const Value& x = call.input(0);
  const Window w = window_of(call, call.node.ints_attribute("kernel_shape"));
  const std::size_t inner = element_count(spatial(x));
  const auto power = static_cast<double>(call.node.int_attribute("p", 2));
  return pool(x, w, [&](std::size_t plane, std::size_t pixel) {
    double sum = 0;
    for_each_tap(w, spatial(x), pixel, [&](std::size_t, std::size_t position) {
      sum += std::pow(std::abs(x.number(plane * inner + position)), power);
    });
    return std::pow(sum, 1 / power);
  });
}

// Puts every element where MaxPool's indices say it came from.
Outputs max_unpool(const Call& call) {
  const Value& x = call.input(0);
  const auto kernel = call.node.ints_attribute("kernel_shape");
  const std::size_t axes = kernel.size();
  call.require_rank(0, static_cast<std::int64_t>(axes) + 2, static_cast<std::int64_t>(axes) + 2);
  const auto strides = call.node.ints_attribute("strides", std::vector<std::int64_t>(axes, 1));
  const auto pads = call.node.ints_attribute("pads", std::vector<std::int64_t>(2 * axes, 0));
  Call::require_count(strides, axes);
  Call::require_count(pads, 2 * axes);
  Shape inferred = x.shape();
  for (std::size_t axis = 0; axis < axes; ++axis) {
    inferred[axis + 2] =
        (inferred[axis + 2] - 1) * strides[axis] + kernel[axis] - pads[axis] - pads[axes + axis];
  }
  const Shape shape = call.has(2) ? call.ints(2, "") : inferred;
  const bool fits =
      shape.size() == inferred.size() && call.input(1).size() == x.size() &&
      std::equal(inferred.begin(), inferred.end(), shape.begin(),
                 [](std::int64_t least, std::int64_t given) { return 0 <= least && least <= given; });
  if (!fits) {
    return call.wrong("has indices or an output shape that do not fit");
  }
  std::vector<double> out(element_count(shape), 0.0);
  const auto strides_out = strides_of(shape);
  const auto extent = static_cast<std::int64_t>(element_count(inferred));
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::int64_t index = call.input(1).i()[i];
    if (index < 0 || index >= extent) {
      return call.wrong(fmt::format("has the index {}, outside its output", index));
    }
    std::size_t at = 0;
    for (std::size_t axis = inferred.size(); axis-- > 0;) {
      at += static_cast<std::size_t>(index % inferred[axis]) * strides_out[axis];
      index /= inferred[axis];
    }
    out[at] = x.number(i);
  }
  return std::vector{pooled(x, shape, std::move(out))};
}

// The columns that a convolution's windows would see, added up where they came from.
Outputs column_to_image(const Call& call) {
  call.require_rank(0, 3, 3);
  const Value& x = call.input(0);
  const std::vector<std::int64_t> image = call.ints(1, "");
  Window w;
  w.kernel = call.ints(2, "");
  const std::size_t axes = w.kernel.size();
  Call::require_count(image, axes);
  w.stride = call.node.ints_attribute("strides", std::vector<std::int64_t>(axes, 1));
  w.dilation = call.node.ints_attribute("dilations", std::vector<std::int64_t>(axes, 1));
  const auto pads = call.node.ints_attribute("pads", std::vector<std::int64_t>(2 * axes, 0));
  Call::require_count(w.stride, axes);
  Call::require_count(w.dilation, axes);
  Call::require_count(pads, 2 * axes);
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t span =
        image[axis] + pads[axis] + pads[axes + axis] - (w.kernel[axis] - 1) * w.dilation[axis] - 1;
    w.before.push_back(pads[axis]);
    w.out.push_back(w.stride[axis] < 1 || span < 0 ? 0 : span / w.stride[axis] + 1);
  }
  check_window(w);
  const std::size_t taps = w.taps(), places = element_count(w.out), inner = element_count(image);
  const auto rows = static_cast<std::size_t>(x.shape()[1]);
  if (rows % taps != 0 || static_cast<std::size_t>(x.shape()[2]) != places) {
    return call.wrong(fmt::format("has columns {} that do not fit its blocks", describe(x.shape())));
  }
  const std::size_t channels = rows / taps;
  Shape shape = {x.shape()[0], static_cast<std::int64_t>(channels)};
  shape.insert(shape.end(), image.begin(), image.end());
  std::vector<double> out(element_count(shape), 0.0);
  for (std::size_t plane = 0; plane < out.size() / std::max<std::size_t>(inner, 1); ++plane) {
    for (std::size_t place = 0; place < places; ++place) {
      for_each_tap(w, image, place, [&](std::size_t tap, std::size_t position) {
        out[plane * inner + position] += x.number((plane * taps + tap) * places + place);
      });
    }
  }
  return std::vector{pooled(x, shape, std::move(out))};
}

Outputs global_pool(const Call& call, bool maximum) {
  call.require_rank(0, 3);
  const Value& x = call.input(0);
  const std::size_t planes = element_count(std::span(x.shape()).first(2));
  const std::size_t inner = element_count(std::span(x.shape()).subspan(2));
  if (inner == 0) {
    return call.wrong("has nothing to take the largest or the mean of");
  }
  Shape shape(x.shape().size(), 1);
  shape[0] = x.shape()[0];
  shape[1] = x.shape()[1];
  Value out = Value::empty_reals(shape, x.type());
  for (std::size_t plane = 0; plane < planes; ++plane) {
    const auto part = x.d().subspan(plane * inner, inner);
    double value = maximum ? *std::max_element(part.begin(), part.end()) : 0;
    if (!maximum) {
      for (const double here : part) {
        value += here;
      }
      value /= static_cast<double>(inner);
    }
    out.d_mutable()[plane] = value;
  }
  return std::vector{out};
}

}  // namespace

const OperatorTable& pool_operators() {
  static const OperatorTable kTable = {
      {"MaxPool", max_pool},
      {"AveragePool", average_pool},
      {"LpPool", lp_pool},
      {"MaxUnpool", max_unpool},
      {"Col2Im", column_to_image},
      {"GlobalAveragePool", [](const Call& c) { return global_pool(c, false); }},
      {"GlobalMaxPool", [](const Call& c) { return global_pool(c, true); }},
  };
  return kTable;
}

}  // namespace touchstone
