// SPDX-License-Identifier: Apache-2.0
#include "reference/window.h"

#include <algorithm>
#include <stdexcept>

namespace touchstone {
namespace {

std::int64_t rounded(std::int64_t span, std::int64_t stride, bool up) {
  return (up ? (span + stride - 1) / stride : span / stride) + 1;
}

}  // namespace

void check_window(const Window& w) {
  const auto below = [](const std::vector<std::int64_t>& list, std::int64_t least) {
    return std::any_of(list.begin(), list.end(), [&](std::int64_t v) { return v < least; });
  };
  if (below(w.stride, 1) || below(w.dilation, 1) || below(w.kernel, 1) || below(w.out, 0)) {
    throw std::out_of_range("a window does not fit");
  }
}

Window window_of(const Call& call, std::vector<std::int64_t> kernel) {
  const Shape& shape = call.input(0).shape();
  const std::size_t axes = kernel.size();
  call.require_rank(0, static_cast<std::int64_t>(axes) + 2, static_cast<std::int64_t>(axes) + 2);
  Window w;
  w.kernel = std::move(kernel);
  w.stride = call.node.ints_attribute("strides", std::vector<std::int64_t>(axes, 1));
  w.dilation = call.node.ints_attribute("dilations", std::vector<std::int64_t>(axes, 1));
  const auto pads = call.node.ints_attribute("pads", std::vector<std::int64_t>(2 * axes, 0));
  Call::require_count(w.stride, axes);
  Call::require_count(w.dilation, axes);
  Call::require_count(pads, 2 * axes);
  const std::string automatic = call.node.string_attribute("auto_pad", "NOTSET");
  const bool up = call.node.int_attribute("ceil_mode", 0) != 0;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t extent = shape[axis + 2];
    if (w.stride[axis] < 1) {
      throw std::out_of_range("a stride is below one");
    }
    const std::int64_t reach = (w.kernel[axis] - 1) * w.dilation[axis] + 1;
    if (automatic.starts_with("SAME")) {
      const std::int64_t out = (extent + w.stride[axis] - 1) / w.stride[axis];
      const std::int64_t total = std::max<std::int64_t>(0, (out - 1) * w.stride[axis] + reach - extent);
      w.before.push_back(automatic == "SAME_LOWER" ? (total + 1) / 2 : total / 2);
      w.out.push_back(out);
      continue;
    }
    w.before.push_back(pads[axis]);
    std::int64_t out = rounded(extent + pads[axis] + pads[axis + axes] - reach, w.stride[axis], up);
    // A window that would start in the padding after the data is left out.
    if (up && (out - 1) * w.stride[axis] >= extent + pads[axis]) {
      --out;
    }
    w.out.push_back(out);
  }
  check_window(w);
  return w;
}

Shape windowed_shape(const Value& x, std::int64_t channels, const Window& window) {
  Shape shape = {x.shape()[0], channels};
  shape.insert(shape.end(), window.out.begin(), window.out.end());
  return shape;
}

}  // namespace touchstone
