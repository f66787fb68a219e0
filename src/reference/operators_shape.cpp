// SPDX-License-Identifier: Apache-2.0
// Operators that move or rename data without computing with it.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/movement.h"

namespace touchstone {
namespace {

Outputs shape_of(const Call& call) {
  const Shape& shape = call.input(0).shape();
  const std::int64_t rank = call.input(0).rank();
  const auto bound = [&](const char* name, std::int64_t fallback) {
    std::int64_t value = call.node.int_attribute(name, fallback);
    return std::clamp<std::int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  const std::int64_t start = bound("start", 0);
  const std::int64_t end = std::max(start, bound("end", rank));
  std::vector<std::int64_t> part(shape.begin() + start, shape.begin() + end);
  return std::vector{Value::ints({end - start}, std::move(part))};
}

Outputs size_of(const Call& call) {
  return std::vector{Value::ints({}, {static_cast<std::int64_t>(call.input(0).size())})};
}

Outputs reshape(const Call& call) {
  const Value& x = call.input(0);
  Shape shape = call.ints(1, "shape");
  const bool zero_is_zero = call.node.int_attribute("allowzero", 0) != 0;
  std::optional<std::size_t> open;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !zero_is_zero) {
      if (i >= x.shape().size()) {
        return call.wrong("copies a dimension that its input does not have");
      }
      shape[i] = x.shape()[i];
    }
    if (shape[i] == -1) {
      open = i;
    } else {
      known *= shape[i];
    }
  }
  if (open) {
    shape[*open] = known == 0 ? 0 : static_cast<std::int64_t>(x.size()) / known;
  }
  if (std::any_of(shape.begin(), shape.end(), [](auto d) { return d < 0; }) ||
      element_count(shape) != x.size()) {
    return call.wrong(fmt::format("cannot make {} of {}", describe(shape), describe(x.shape())));
  }
  return std::vector{x.reshaped(std::move(shape))};
}

Outputs flatten(const Call& call) {
  const Value& x = call.input(0);
  const std::int64_t given = call.node.int_attribute("axis", 1);  // may be the rank itself
  const std::size_t axis = given == x.rank() ? x.shape().size() : normalize_axis(given, x.rank());
  Shape shape = {1, 1};
  for (std::size_t i = 0; i < x.shape().size(); ++i) {
    shape[i < axis ? 0 : 1] *= x.shape()[i];
  }
  return std::vector{x.reshaped(std::move(shape))};
}

Outputs squeeze(const Call& call) {
  const Value& x = call.input(0);
  const auto axes = call.ints(1, "axes");
  Shape shape;
  for (std::size_t i = 0; i < x.shape().size(); ++i) {
    const bool named =
        std::any_of(axes.begin(), axes.end(), [&](auto a) { return normalize_axis(a, x.rank()) == i; });
    if (axes.empty() ? x.shape()[i] != 1 : !named) {
      shape.push_back(x.shape()[i]);
    }
  }
  return std::vector{x.reshaped(std::move(shape))};
}

Outputs unsqueeze(const Call& call) {
  const Value& x = call.input(0);
  const auto axes = call.ints(1, "axes");
  const std::int64_t rank = x.rank() + static_cast<std::int64_t>(axes.size());
  std::vector<bool> added(static_cast<std::size_t>(rank), false);
  for (const std::int64_t axis : axes) {
    const std::size_t at = normalize_axis(axis, rank);
    if (at >= added.size() || added[at]) {
      return call.wrong(fmt::format("axis {} is outside rank {} or there twice", axis, rank));
    }
    added[at] = true;
  }
  Shape shape;
  auto next = x.shape().begin();
  for (const bool is_new : added) {
    shape.push_back(is_new ? 1 : *next++);
  }
  return std::vector{x.reshaped(std::move(shape))};
}

Outputs transpose(const Call& call) {
  const Value& x = call.input(0);
  std::vector<std::int64_t> order(x.shape().size());
  std::iota(order.rbegin(), order.rend(), 0);
  const std::vector<std::int64_t> reversed = order;
  order = call.node.ints_attribute("perm", order);
  if (!std::is_permutation(order.begin(), order.end(), reversed.begin(), reversed.end())) {
    return call.wrong("has a perm that is no permutation of its axes");
  }
  const auto strides = strides_of(x.shape());
  Shape shape;
  std::vector<std::size_t> read;
  for (const std::int64_t axis : order) {
    shape.push_back(x.shape().at(static_cast<std::size_t>(axis)));
    read.push_back(strides[static_cast<std::size_t>(axis)]);
  }
  return std::vector{pick_elements(x, shape, [&](std::size_t i) { return position(i, shape, read); })};
}

Outputs concat(const Call& call) {
  const std::size_t axis = call.axis("axis", 1, call.input(0).rank());
  Shape shape = call.input(0).shape();
  shape.at(axis) = 0;
  for (const Value& part : call.inputs) {
    Shape other = part.shape();
    shape[axis] += other.at(axis);
    other[axis] = call.input(0).shape()[axis];
    if (other != call.input(0).shape()) {
      return call.wrong(
          fmt::format("joins {} and {}", describe(call.input(0).shape()), describe(part.shape())));
    }
  }
  const bool real = call.input(0).real();
  Value out =
      real ? Value::empty_reals(shape, call.input(0).type()) : Value::empty_ints(shape, call.input(0).type());
  const std::size_t inner = element_count(std::span(shape).subspan(axis + 1));
  const std::size_t outer = element_count(std::span(shape).first(axis));
  const std::size_t row = inner * static_cast<std::size_t>(shape[axis]);
  std::size_t offset = 0;
  for (const Value& part : call.inputs) {
    const std::size_t width = inner * static_cast<std::size_t>(part.shape()[axis]);
    for (std::size_t o = 0; o < outer; ++o) {
      if (real) {
        std::copy_n(part.d().begin() + static_cast<std::ptrdiff_t>(o * width), width,
                    out.d_mutable().begin() + static_cast<std::ptrdiff_t>(o * row + offset));
      } else {
        std::copy_n(part.i().begin() + static_cast<std::ptrdiff_t>(o * width), width,
                    out.i_mutable().begin() + static_cast<std::ptrdiff_t>(o * row + offset));
      }
    }
    offset += width;
  }
  return std::vector{out};
}

// A box of `x`: starts and steps per axis, extents in `shape`.
Value slice_box(const Value& x, const Shape& shape, const std::vector<std::int64_t>& starts,
                const std::vector<std::int64_t>& steps) {
  const auto strides = strides_of(x.shape());
  return pick_elements(x, shape, [&](std::size_t i) {
    std::int64_t at = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(shape[axis]);
      at += (starts[axis] + static_cast<std::int64_t>(i % extent) * steps[axis]) *
            static_cast<std::int64_t>(strides[axis]);
      i /= extent;
    }
    return static_cast<std::size_t>(at);
  });
}

Outputs slice(const Call& call) {
  const Value& x = call.input(0);
  const auto starts = call.ints(1, "starts");
  const auto ends = call.ints(2, "ends");
  std::vector<std::int64_t> every(starts.size());
  std::iota(every.begin(), every.end(), 0);
  const auto axes = call.ints(3, "axes", every);
  const auto steps = call.ints(4, "steps", std::vector<std::int64_t>(starts.size(), 1));
  Shape shape = x.shape();
  std::vector<std::int64_t> begin(shape.size(), 0);
  std::vector<std::int64_t> step(shape.size(), 1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = normalize_axis(axes[i], x.rank());
    const std::int64_t extent = x.shape().at(axis);
    step[axis] = steps.at(i);
    if (step[axis] == 0) {
      return call.wrong("has a step of zero");
    }
    const bool forward = step[axis] > 0;
    const auto clamp = [&](std::int64_t value) {
      value = value < 0 ? value + extent : value;
      return std::clamp<std::int64_t>(value, forward ? 0 : -1, forward ? extent : extent - 1);
    };
    begin[axis] =
        forward ? clamp(starts[i])
                : std::clamp<std::int64_t>(starts[i] < 0 ? starts[i] + extent : starts[i], 0, extent - 1);
    const std::int64_t end = clamp(ends.at(i));
    const std::int64_t span = forward ? end - begin[axis] : begin[axis] - end;
    const std::int64_t stride = forward ? step[axis] : -step[axis];
    shape[axis] = std::max<std::int64_t>(0, (span + stride - 1) / stride);
  }
  return std::vector{slice_box(x, shape, begin, step)};
}

Outputs split(const Call& call) {
  const Value& x = call.input(0);
  const std::size_t axis = call.axis("axis", 0, x.rank());
  const std::int64_t extent = x.shape().at(axis);
  std::vector<std::int64_t> parts = call.ints(1, "split");
  if (parts.empty()) {
    const auto many = static_cast<std::int64_t>(call.node.outputs.size());
    const std::int64_t share = (extent + many - 1) / many;
    for (std::int64_t left = extent, i = 0; i < many; ++i) {
      parts.push_back(std::min(share, left));
      left -= parts.back();
    }
  }
  std::vector<Value> outputs;
  std::vector<std::int64_t> begin(x.shape().size(), 0);
  const std::vector<std::int64_t> steps(x.shape().size(), 1);
  for (const std::int64_t part : parts) {
    Shape shape = x.shape();
    shape[axis] = part;
    if (begin[axis] + part > extent) {
      return call.wrong("its parts are longer than the whole");
    }
    outputs.push_back(slice_box(x, shape, begin, steps));
    begin[axis] += part;
  }
  return outputs;
}

Outputs expand(const Call& call) {
  const auto wanted = call.ints(1, "shape");
  const auto shape = broadcast_shapes(call.input(0).shape(), wanted);
  if (!shape) {
    return call.wrong(shape.error().message);
  }
  const auto strides = broadcast_strides(call.input(0).shape(), *shape);
  return std::vector{
      pick_elements(call.input(0), *shape, [&](std::size_t i) { return position(i, *shape, strides); })};
}

Outputs tile(const Call& call) {
  const Value& x = call.input(0);
  const auto repeats = call.ints(1, "repeats");
  Shape shape = x.shape();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    shape[axis] *= repeats.at(axis);
  }
  const auto strides = strides_of(x.shape());
  return std::vector{pick_elements(x, shape, [&](std::size_t i) {
    std::size_t at = 0;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(shape[axis]);
      at += i % extent % static_cast<std::size_t>(x.shape()[axis]) * strides[axis];
      i /= extent;
    }
    return at;
  })};
}

std::int64_t reflected(std::int64_t at, std::int64_t extent, const std::string& mode) {
  if (mode == "edge") {
    return std::clamp<std::int64_t>(at, 0, extent - 1);
  }
  if (mode == "wrap") {
    return ((at % extent) + extent) % extent;
  }
  const std::int64_t period = std::max<std::int64_t>(1, 2 * (extent - 1));
  at = ((at % period) + period) % period;
  return at < extent ? at : period - at;
}

Outputs pad(const Call& call) {
  const Value& x = call.input(0);
  const std::string mode = call.node.string_attribute("mode", "constant");
  if (mode != "constant" && x.size() == 0) {
    return call.wrong("has nothing to repeat");
  }
  const auto pads = call.ints(1, "pads");
  std::vector<std::int64_t> every(x.shape().size());
  std::iota(every.begin(), every.end(), 0);
  const auto axes = call.ints(3, "axes", every);
  Shape shape = x.shape();
  std::vector<std::int64_t> before(shape.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = normalize_axis(axes[i], x.rank());
    before[axis] = pads.at(i);
    shape[axis] += pads.at(i) + pads.at(i + axes.size());
  }
  const double fill = call.has(2) ? call.input(2).number(0) : call.node.float_attribute("value", 0);
  const auto strides = strides_of(x.shape());
  Value out = x.real() ? Value::empty_reals(shape, x.type()) : Value::empty_ints(shape, x.type());
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::size_t rest = i;
    std::size_t at = 0;
    bool inside = true;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(shape[axis]);
      std::int64_t here = static_cast<std::int64_t>(rest % extent) - before[axis];
      rest /= extent;
      if (here < 0 || here >= x.shape()[axis]) {
        inside = inside && mode != "constant";
        here = inside ? reflected(here, x.shape()[axis], mode) : 0;
      }
      at += static_cast<std::size_t>(here) * strides[axis];
    }
    if (x.real()) {
      out.d_mutable()[i] = inside ? x.d()[at] : fill;
    } else {
      out.i_mutable()[i] = inside ? x.i()[at] : static_cast<std::int64_t>(fill);
    }
  }
  return std::vector{out};
}

Outputs identity(const Call& call) {
  return std::vector{call.input(0)};
}

Outputs dropout(const Call& call) {
  std::vector<std::int64_t> all(call.input(0).size(), 1);
  return std::vector{call.input(0), Value::ints(call.input(0).shape(), std::move(all), DataType::kBool)};
}

Outputs depth_to_space(const Call& call) {
  call.require_rank(0, 4, 4);
  const Value& x = call.input(0);
  const std::int64_t block = call.node.int_attribute("blocksize", 1);
  if (block < 1) {
    return call.wrong("has a block size below one");
  }
  const bool crd = call.node.string_attribute("mode", "DCR") == "CRD";
  const Shape& s = x.shape();
  const std::int64_t depth = s[1] / (block * block);
  const Shape shape = {s[0], depth, s[2] * block, s[3] * block};
  const auto strides = strides_of(s);
  return std::vector{pick_elements(x, shape, [&](std::size_t i) {
    auto rest = static_cast<std::int64_t>(i);
    const std::int64_t w = rest % shape[3];
    const std::int64_t h = (rest /= shape[3]) % shape[2];
    const std::int64_t c = (rest /= shape[2]) % depth;
    const std::int64_t n = rest / depth;
    const std::int64_t cell = (h % block) * block + w % block;
    const std::int64_t channel = crd ? c * block * block + cell : cell * depth + c;
    return static_cast<std::size_t>(n) * strides[0] + static_cast<std::size_t>(channel) * strides[1] +
           static_cast<std::size_t>(h / block) * strides[2] + static_cast<std::size_t>(w / block);
  })};
}

Outputs space_to_depth(const Call& call) {
  call.require_rank(0, 4, 4);
  const Value& x = call.input(0);
  const std::int64_t block = call.node.int_attribute("blocksize", 1);
  if (block < 1) {
    return call.wrong("has a block size below one");
  }
  const Shape& s = x.shape();
  const Shape shape = {s[0], s[1] * block * block, s[2] / block, s[3] / block};
  const auto strides = strides_of(s);
  return std::vector{pick_elements(x, shape, [&](std::size_t i) {
    auto rest = static_cast<std::int64_t>(i);
    const std::int64_t w = rest % shape[3];
    const std::int64_t h = (rest /= shape[3]) % shape[2];
    const std::int64_t channel = (rest /= shape[2]) % shape[1];
    const std::int64_t n = rest / shape[1];
    const std::int64_t cell = channel / s[1];
    return static_cast<std::size_t>(n) * strides[0] + static_cast<std::size_t>(channel % s[1]) * strides[1] +
           static_cast<std::size_t>(h * block + cell / block) * strides[2] +
           static_cast<std::size_t>(w * block + cell % block);
  })};
}

}  // namespace

const OperatorTable& shape_operators() {
  static const OperatorTable kTable = {
      {"Shape", shape_of},
      {"Size", size_of},
      {"Reshape", reshape},
      {"Flatten", flatten},
      {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},
      {"Transpose", transpose},
      {"Concat", concat},
      {"Slice", slice},
      {"Split", split},
      {"Expand", expand},
      {"Tile", tile},
      {"Pad", pad},
      {"Identity", identity},
      {"Dropout", dropout},
      {"DepthToSpace", depth_to_space},
      {"SpaceToDepth", space_to_depth},
  };
  return kTable;
}

}  // namespace touchstone
