// SPDX-License-Identifier: Apache-2.0
// Operators that only move elements: gathering, slicing, joining and reshaping small tensors.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "graph/bundle.h"
#include "graph/passes/small_tensor.h"

namespace touchstone {
namespace {

using Inputs = std::vector<const SmallTensor*>;
using Shape = std::vector<std::int64_t>;

constexpr auto kLargest = static_cast<std::int64_t>(kLargestFolded);

std::optional<std::size_t> normal_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  const std::int64_t positive = axis < 0 ? axis + signed_rank : axis;
  return positive < 0 || positive >= signed_rank ? std::nullopt
                                                 : std::optional(static_cast<std::size_t>(positive));
}

void append(SmallTensor& out, const SmallTensor& from, std::size_t index) {
  if (out.is_float()) {
    out.floats.push_back(from.floats[index]);
  } else {
    out.ints.push_back(from.ints[index]);
  }
}

std::size_t product(const Shape& shape, std::size_t from, std::size_t to) {
  return element_count(std::span(shape).subspan(from, to - from));
}

std::optional<SmallTensor> with_shape(const SmallTensor& x, Shape shape) {
  if (element_count(shape) != x.size()) {
    return std::nullopt;
  }
  SmallTensor out = x;
  out.shape = std::move(shape);
  return out;
}

std::optional<SmallTensor> gather(const Node& node, const SmallTensor& data, const SmallTensor& indices) {
  const auto axis = normal_axis(node.int_attribute("axis", 0), data.shape.size());
  if (!axis || indices.is_float()) {
    return std::nullopt;
  }
  const std::int64_t extent = data.shape[*axis];
  const std::size_t outer = product(data.shape, 0, *axis);
  const std::size_t inner = product(data.shape, *axis + 1, data.shape.size());
  if (outer * inner * indices.size() > kLargestFolded) {
    return std::nullopt;
  }
  SmallTensor out{
      data.type, Shape(data.shape.begin(), data.shape.begin() + static_cast<long>(*axis)), {}, {}};
  out.shape.insert(out.shape.end(), indices.shape.begin(), indices.shape.end());
  out.shape.insert(out.shape.end(), data.shape.begin() + static_cast<long>(*axis) + 1, data.shape.end());
  for (std::size_t o = 0; o < outer; ++o) {
    for (const std::int64_t given : indices.ints) {
      const std::int64_t index = given < 0 ? given + extent : given;
      if (index < 0 || index >= extent) {
        return std::nullopt;
      }
      const std::size_t row = o * static_cast<std::size_t>(extent) + static_cast<std::size_t>(index);
      for (std::size_t i = 0; i < inner; ++i) {
        append(out, data, row * inner + i);
      }
    }
  }
  return out;
}

std::optional<SmallTensor> concat(const Node& node, const Inputs& inputs) {
  const auto axis = normal_axis(node.int_attribute("axis", 0), inputs[0]->shape.size());
  if (!axis) {
    return std::nullopt;
  }
  SmallTensor out{inputs[0]->type, inputs[0]->shape, {}, {}};
  out.shape[*axis] = 0;
  std::size_t total = 0;
  for (const SmallTensor* part : inputs) {
    Shape other = part->shape;
    if (part->type != out.type || other.size() != out.shape.size()) {
      return std::nullopt;
    }
    out.shape[*axis] += other[*axis];
    total += part->size();
    other[*axis] = out.shape[*axis];
    if (other != out.shape) {
      return std::nullopt;
    }
  }
  if (total > kLargestFolded) {
    return std::nullopt;
  }
  const std::size_t outer = product(out.shape, 0, *axis);
  for (std::size_t o = 0; o < outer; ++o) {
    for (const SmallTensor* part : inputs) {
      const std::size_t run = product(part->shape, *axis, part->shape.size());
      for (std::size_t i = 0; i < run; ++i) {
        append(out, *part, o * run + i);
      }
    }
  }
  return out;
}

// The axes of Squeeze, Unsqueeze and Slice: an attribute in old opsets, an input since.
std::optional<Shape> axes_of(const Node& node, const Inputs& inputs, std::size_t position) {
  if (inputs.size() > position && inputs[position] != nullptr) {
    return inputs[position]->ints;
  }
  return node.attributes.contains("axes") ? std::optional(node.ints_attribute("axes")) : std::nullopt;
}

std::optional<SmallTensor> squeeze(const Node& node, const Inputs& inputs) {
  const SmallTensor& x = *inputs[0];
  std::vector<bool> dropped(x.shape.size());
  if (const auto axes = axes_of(node, inputs, 1)) {
    for (const std::int64_t axis : *axes) {
      const auto normal = normal_axis(axis, x.shape.size());
      if (!normal || x.shape[*normal] != 1) {
        return std::nullopt;
      }
      dropped[*normal] = true;
    }
  } else {
    std::transform(x.shape.begin(), x.shape.end(), dropped.begin(), [](auto extent) { return extent == 1; });
  }
  Shape shape;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (!dropped[i]) {
      shape.push_back(x.shape[i]);
    }
  }
  return with_shape(x, std::move(shape));
}

std::optional<SmallTensor> unsqueeze(const Node& node, const Inputs& inputs) {
  const SmallTensor& x = *inputs[0];
  const auto axes = axes_of(node, inputs, 1);
  if (!axes) {
    return std::nullopt;
  }
  Shape shape(x.shape.size() + axes->size(), 0);
  for (const std::int64_t axis : *axes) {
    const auto normal = normal_axis(axis, shape.size());
    if (!normal || shape[*normal] == 1) {
      return std::nullopt;
    }
    shape[*normal] = 1;
  }
  auto next = x.shape.begin();
  for (std::int64_t& extent : shape) {
    extent = extent == 1 ? 1 : *next++;
  }
  return with_shape(x, std::move(shape));
}

std::optional<SmallTensor> reshape(const Node& node, const SmallTensor& x, Shape shape) {
  std::int64_t known = 1;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && node.int_attribute("allowzero", 0) == 0) {
      if (i >= x.shape.size()) {
        return std::nullopt;
      }
      shape[i] = x.shape[i];
    }
    if (shape[i] < -1 || (shape[i] == -1 && open)) {
      return std::nullopt;
    }
    if (shape[i] == -1) {
      open = i;
    } else if (shape[i] > kLargest || (known *= shape[i]) > kLargest) {
      return std::nullopt;
    }
  }
  if (open) {
    shape[*open] = known == 0 ? 0 : static_cast<std::int64_t>(x.size()) / known;
  }
  return with_shape(x, std::move(shape));
}

// One axis only; shape arithmetic slices vectors.
std::optional<SmallTensor> slice(const Node& node, const Inputs& inputs) {
  const SmallTensor& x = *inputs[0];
  const auto part = [&](std::size_t position, const char* name) {
    return inputs.size() > position && inputs[position] != nullptr ? inputs[position]->ints
                                                                   : node.ints_attribute(name);
  };
  const Shape starts = part(1, "starts");
  const Shape ends = part(2, "ends");
  const Shape axes = axes_of(node, inputs, 3).value_or(Shape{0});
  const Shape steps = inputs.size() > 4 && inputs[4] != nullptr ? inputs[4]->ints : Shape{1};
  if (x.shape.size() != 1 || starts.size() != 1 || ends.size() != 1 || axes.size() != 1 ||
      steps.size() != 1 || !normal_axis(axes[0], 1) || steps[0] == 0 ||
      steps[0] == std::numeric_limits<std::int64_t>::min()) {
    return std::nullopt;
  }
  const std::int64_t extent = x.shape[0];
  const bool forward = steps[0] > 0;
  const auto clamp = [&](std::int64_t index) {
    const std::int64_t positive = index < 0 ? index + extent : index;
    return forward ? std::clamp<std::int64_t>(positive, 0, extent)
                   : std::clamp<std::int64_t>(positive, -1, extent - 1);
  };
  const std::int64_t step = std::clamp(steps[0], -extent - 1, extent + 1);
  const std::int64_t end = clamp(ends[0]);
  SmallTensor out{x.type, {}, {}, {}};
  for (std::int64_t i = clamp(starts[0]); forward ? i < end : i > end; i += step) {
    append(out, x, static_cast<std::size_t>(i));
  }
  out.shape = {static_cast<std::int64_t>(out.size())};
  return out;
}

bool fits(const Shape& shape) {
  std::size_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || extent > kLargest || (count *= static_cast<std::size_t>(extent)) > kLargestFolded) {
      return false;
    }
  }
  return true;
}

std::optional<SmallTensor> constant_of_shape(const Node& node, const SmallTensor& shape) {
  SmallTensor fill{DataType::kFloat, {1}, {}, {0.0}};
  if (const auto found = node.attributes.find("value"); found != node.attributes.end()) {
    const auto* constant = std::get_if<Constant>(&found->second.value);
    const auto given = constant == nullptr ? std::nullopt : small_tensor(*constant);
    if (!given || given->size() != 1) {
      return std::nullopt;
    }
    fill = *given;
  }
  if (!fits(shape.ints)) {
    return std::nullopt;
  }
  SmallTensor out{fill.type, shape.ints, {}, {}};
  const std::size_t count = element_count(out.shape);
  for (std::size_t i = 0; i < count; ++i) {
    append(out, fill, 0);
  }
  return out;
}

std::optional<SmallTensor> range(const SmallTensor& start, const SmallTensor& limit,
                                 const SmallTensor& delta) {
  if (start.type != limit.type || start.type != delta.type || start.is_float() || start.size() != 1 ||
      limit.size() != 1 || delta.size() != 1 || delta.ints[0] == 0) {
    return std::nullopt;
  }
  constexpr std::int64_t kExact = std::int64_t{1} << 52;  // of doubles, and far from overflow
  const auto beyond = [](const SmallTensor& x) { return x.ints[0] > kExact || x.ints[0] < -kExact; };
  if (beyond(start) || beyond(limit) || beyond(delta)) {
    return std::nullopt;
  }
  const double count =
      std::ceil(static_cast<double>(limit.ints[0] - start.ints[0]) / static_cast<double>(delta.ints[0]));
  if (count > static_cast<double>(kLargestFolded)) {
    return std::nullopt;
  }
  SmallTensor out{start.type, {std::max<std::int64_t>(0, static_cast<std::int64_t>(count))}, {}, {}};
  for (std::int64_t i = 0; i < out.shape[0]; ++i) {
    out.ints.push_back(start.ints[0] + i * delta.ints[0]);
  }
  return out;
}

// As arithmetic does it: the broadcast of a tensor with a tensor of ones.
std::optional<SmallTensor> expand(const SmallTensor& x, const SmallTensor& shape) {
  if (!fits(shape.ints)) {
    return std::nullopt;
  }
  Node multiply;
  multiply.op_type = "Mul";
  multiply.outputs = {"out"};
  SmallTensor ones{x.type, shape.ints, {}, {}};
  ones.ints.assign(x.is_float() ? 0 : element_count(shape.ints), 1);
  ones.floats.assign(x.is_float() ? element_count(shape.ints) : 0, 1.0);
  return evaluate_arithmetic(multiply, {&x, &ones});
}

std::optional<SmallTensor> flatten(const Node& node, const SmallTensor& x) {
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  const std::int64_t given = node.int_attribute("axis", 1);
  const std::int64_t axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis > rank) {
    return std::nullopt;
  }
  const std::size_t outer = product(x.shape, 0, static_cast<std::size_t>(axis));
  const std::size_t inner = product(x.shape, static_cast<std::size_t>(axis), x.shape.size());
  return with_shape(x, {static_cast<std::int64_t>(outer), static_cast<std::int64_t>(inner)});
}

}  // namespace

std::optional<SmallTensor> evaluate_movement(const Node& node, int opset, const Inputs& inputs) {
  const std::string& op = node.op_type;
  if (inputs.empty() || inputs[0] == nullptr) {
    return std::nullopt;
  }
  const auto has = [&](std::size_t count) {
    return inputs.size() == count && std::count(inputs.begin(), inputs.end(), nullptr) == 0;
  };
  if (op == "Identity" && has(1)) {
    return *inputs[0];
  }
  if (op == "Gather" && has(2)) {
    return gather(node, *inputs[0], *inputs[1]);
  }
  if (op == "Concat" && has(inputs.size())) {
    return concat(node, inputs);
  }
  if (op == "Squeeze") {
    return squeeze(node, inputs);
  }
  if (op == "Unsqueeze") {
    return unsqueeze(node, inputs);
  }
  if (op == "Reshape" && opset >= 5 && has(2)) {
    return reshape(node, *inputs[0], inputs[1]->ints);
  }
  if (op == "Slice") {
    return slice(node, inputs);
  }
  if (op == "ConstantOfShape" && has(1)) {
    return constant_of_shape(node, *inputs[0]);
  }
  if (op == "Range" && has(3)) {
    return range(*inputs[0], *inputs[1], *inputs[2]);
  }
  if (op == "Expand" && has(2)) {
    return expand(*inputs[0], *inputs[1]);
  }
  if (op == "Flatten" && has(1)) {
    return flatten(node, *inputs[0]);
  }
  return std::nullopt;
}

}  // namespace touchstone
