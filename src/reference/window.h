// SPDX-License-Identifier: Apache-2.0
// The window that convolutions and pooling move over their input, in any number of spatial dimensions.
#pragma once

#include <span>
#include <vector>

#include "reference/operators.h"

namespace touchstone {

/// Kernel, strides, dilations and padding per spatial axis, and how many places the window has.
struct Window {
  std::vector<std::int64_t> kernel, stride, dilation, before, out;
  std::size_t axes() const { return kernel.size(); }
  std::size_t taps() const { return element_count(kernel); }
};

/// Throws std::out_of_range where it has no size or moves by nothing.
void check_window(const Window& window);

/// From the attributes of a node whose first input is [batch, channels, …]. Throws std::out_of_range.
Window window_of(const Call& call, std::vector<std::int64_t> kernel);

/// [batch, channels] of `x` and the window's places.
Shape windowed_shape(const Value& x, std::int64_t channels, const Window& window);

/// Calls `body(tap, position)` for every tap of the window at place `index` that lies on the data; `position`
/// is the flat spatial position in an input of these extents.
template <class Body>
void for_each_tap(const Window& w, std::span<const std::int64_t> extents, std::size_t index, Body body) {
  std::vector<std::int64_t> origin(w.axes());
  for (std::size_t axis = w.axes(); axis-- > 0;) {
    origin[axis] = static_cast<std::int64_t>(index) % w.out[axis] * w.stride[axis] - w.before[axis];
    index /= static_cast<std::size_t>(w.out[axis]);
  }
  const std::size_t taps = w.taps();
  for (std::size_t tap = 0; tap < taps; ++tap) {
    std::size_t rest = tap;
    std::int64_t position = 0;
    std::int64_t stride = 1;
    bool inside = true;
    for (std::size_t axis = w.axes(); axis-- > 0;) {
      const std::int64_t at =
          origin[axis] + static_cast<std::int64_t>(rest) % w.kernel[axis] * w.dilation[axis];
      rest /= static_cast<std::size_t>(w.kernel[axis]);
      inside = inside && at >= 0 && at < extents[axis];
      position += at * stride;
      stride *= extents[axis];
    }
    if (inside) {
      body(tap, static_cast<std::size_t>(position));
    }
  }
}

}  // namespace touchstone
