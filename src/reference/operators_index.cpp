// SPDX-License-Identifier: Apache-2.0
// Gathering and scattering by index.
#include <algorithm>

#include "reference/movement.h"

namespace touchstone {
namespace {

Result<std::size_t> checked(const Call& call, std::int64_t index, std::int64_t extent) {
  const std::int64_t at = index < 0 ? index + extent : index;
  if (at < 0 || at >= extent) {
    return call.wrong(fmt::format("index {} is outside 0 to {}", index, extent - 1));
  }
  return static_cast<std::size_t>(at);
}

void copy_block(const Value& from, std::size_t at, Value& to, std::size_t where, std::size_t count) {
  if (!from.mapped().empty() && from.real()) {
    std::copy_n(from.mapped().begin() + static_cast<std::ptrdiff_t>(at), count,
                to.d_mutable().begin() + static_cast<std::ptrdiff_t>(where));
  } else if (from.real()) {
    std::copy_n(from.d().begin() + static_cast<std::ptrdiff_t>(at), count,
                to.d_mutable().begin() + static_cast<std::ptrdiff_t>(where));
  } else {
    std::copy_n(from.i().begin() + static_cast<std::ptrdiff_t>(at), count,
                to.i_mutable().begin() + static_cast<std::ptrdiff_t>(where));
  }
}

Outputs gather(const Call& call) {
  const Value& x = call.input(0);
  const Value& indices = call.input(1);
  const std::size_t axis = call.axis("axis", 0, x.rank());
  const auto split = static_cast<std::ptrdiff_t>(axis);
  Shape shape(x.shape().begin(), x.shape().begin() + split);
  shape.insert(shape.end(), indices.shape().begin(), indices.shape().end());
  shape.insert(shape.end(), x.shape().begin() + split + 1, x.shape().end());
  const std::size_t outer = element_count(std::span(x.shape()).first(axis));
  const std::size_t inner = element_count(std::span(x.shape()).subspan(axis + 1));
  const auto extent = static_cast<std::size_t>(x.shape()[axis]);
  Value out = empty_like(x, shape);
  std::size_t where = 0;
  for (std::size_t o = 0; o < outer; ++o) {
    for (const std::int64_t index : indices.i()) {
      TOUCHSTONE_ASSIGN(const std::size_t at, checked(call, index, x.shape()[axis]));
      copy_block(x, (o * extent + at) * inner, out, where, inner);
      where += inner;
    }
  }
  return std::vector{out};
}

// Visits every element of `shape` with its coordinates.
template <class Body>
Result<void> for_each_index(const Shape& shape, Body body) {
  std::vector<std::size_t> index(shape.size(), 0);
  const std::size_t count = element_count(shape);
  for (std::size_t i = 0; i < count; ++i) {
    TOUCHSTONE_TRY(body(i, index));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < static_cast<std::size_t>(shape[axis])) {
        break;
      }
      index[axis] = 0;
    }
  }
  return {};
}

// Throws std::out_of_range unless `indices` has the rank of `x` and lies within it on all axes but one.
void require_within(const Call& call, const Value& indices, const Value& x, std::size_t axis) {
  call.require_rank(1, x.rank(), x.rank());
  for (std::size_t other = 0; other < x.shape().size(); ++other) {
    if (other != axis && indices.shape()[other] > x.shape()[other]) {
      throw std::out_of_range("indices reach beyond the data");
    }
  }
}

Outputs gather_elements(const Call& call) {
  const Value& x = call.input(0);
  const Value& indices = call.input(1);
  const std::size_t axis = call.axis("axis", 0, x.rank());
  require_within(call, indices, x, axis);
  const auto strides = strides_of(x.shape());
  Value out = empty_like(x, indices.shape());
  TOUCHSTONE_TRY(for_each_index(indices.shape(), [&](std::size_t i, const auto& index) -> Result<void> {
    TOUCHSTONE_ASSIGN(const std::size_t picked, checked(call, indices.i()[i], x.shape()[axis]));
    std::size_t at = picked * strides[axis];
    for (std::size_t other = 0; other < index.size(); ++other) {
      at += other == axis ? 0 : index[other] * strides[other];
    }
    copy_block(x, at, out, i, 1);
    return {};
  }));
  return std::vector{out};
}

// Rows of an index tensor: its last dimension is the width of an index. Its rank is at least 1.
std::size_t row_count(const Value& indices) {
  return element_count(std::span(indices.shape()).first(indices.shape().size() - 1));
}

// The block of `x` that one row of an index tensor of width `depth` (after `batch` shared dimensions) names.
Result<std::size_t> block_at(const Call& call, const Value& x, const Value& indices, std::size_t row,
                             std::size_t depth, std::size_t batch, std::size_t batch_offset) {
  const auto strides = strides_of(x.shape());
  std::size_t at = batch_offset;
  for (std::size_t d = 0; d < depth; ++d) {
    TOUCHSTONE_ASSIGN(const std::size_t index,
                      checked(call, indices.i()[row * depth + d], x.shape().at(batch + d)));
    at += index * strides[batch + d];
  }
  return at;
}

Outputs gather_nd(const Call& call) {
  const Value& x = call.input(0);
  const Value& indices = call.input(1);
  call.require_rank(1, 1);
  const auto batch = static_cast<std::size_t>(call.node.int_attribute("batch_dims", 0));
  const auto depth = static_cast<std::size_t>(indices.shape().back());
  if (batch >= static_cast<std::size_t>(indices.rank()) ||
      batch + depth > static_cast<std::size_t>(x.rank())) {
    return call.wrong("has indices of more dimensions than its data");
  }
  if (!std::equal(x.shape().begin(), x.shape().begin() + static_cast<std::ptrdiff_t>(batch),
                  indices.shape().begin())) {
    return call.wrong("has indices of another batch than its data");
  }
  Shape shape(indices.shape().begin(), indices.shape().end() - 1);
  shape.insert(shape.end(), x.shape().begin() + static_cast<std::ptrdiff_t>(batch + depth), x.shape().end());
  const std::size_t inner = element_count(std::span(x.shape()).subspan(batch + depth));
  const std::size_t rows = row_count(indices);
  const std::size_t batches = element_count(std::span(x.shape()).first(batch));
  const std::size_t batch_size = element_count(std::span(x.shape()).subspan(batch));
  Value out = empty_like(x, shape);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t offset =
        row / std::max<std::size_t>(rows / std::max<std::size_t>(batches, 1), 1) * batch_size;
    TOUCHSTONE_ASSIGN(const std::size_t at, block_at(call, x, indices, row, depth, batch, offset));
    copy_block(x, at, out, row * inner, inner);
  }
  return std::vector{out};
}

double combine(const std::string& reduction, double old, double update) {
  if (reduction == "add") {
    return old + update;
  }
  if (reduction == "mul") {
    return old * update;
  }
  if (reduction == "max") {
    return std::max(old, update);
  }
  if (reduction == "min") {
    return std::min(old, update);
  }
  return update;
}

void write_one(Value& out, std::size_t at, const Value& updates, std::size_t i,
               const std::string& reduction) {
  if (out.real()) {
    out.d_mutable()[at] = combine(reduction, out.d()[at], updates.d()[i]);
  } else {
    out.i_mutable()[at] = static_cast<std::int64_t>(
        combine(reduction, static_cast<double>(out.i()[at]), static_cast<double>(updates.i()[i])));
  }
}

Value copy_of(const Value& x) {
  Value out = empty_like(x, x.shape());
  copy_block(x, 0, out, 0, x.size());
  return out;
}

Outputs scatter_elements(const Call& call) {
  const Value& indices = call.input(1);
  const Value& updates = call.input(2);
  const std::string reduction = call.node.string_attribute("reduction", "none");
  Value out = copy_of(call.input(0));
  const std::size_t axis = call.axis("axis", 0, out.rank());
  require_within(call, indices, out, axis);
  if (updates.size() < indices.size() || updates.real() != out.real()) {
    return call.wrong("has updates that do not fit its indices");
  }
  const auto strides = strides_of(out.shape());
  TOUCHSTONE_TRY(for_each_index(indices.shape(), [&](std::size_t i, const auto& index) -> Result<void> {
    TOUCHSTONE_ASSIGN(const std::size_t picked, checked(call, indices.i()[i], out.shape()[axis]));
    std::size_t at = picked * strides[axis];
    for (std::size_t other = 0; other < index.size(); ++other) {
      at += other == axis ? 0 : index[other] * strides[other];
    }
    write_one(out, at, updates, i, reduction);
    return {};
  }));
  return std::vector{out};
}

Outputs scatter_nd(const Call& call) {
  const Value& indices = call.input(1);
  const Value& updates = call.input(2);
  const std::string reduction = call.node.string_attribute("reduction", "none");
  Value out = copy_of(call.input(0));
  call.require_rank(1, 1);
  const auto depth = static_cast<std::size_t>(indices.shape().back());
  call.require_rank(0, static_cast<std::int64_t>(depth));
  const std::size_t inner = element_count(std::span(out.shape()).subspan(depth));
  const std::size_t rows = row_count(indices);
  if (updates.size() < rows * inner || updates.real() != out.real()) {
    return call.wrong("has updates that do not fit its indices");
  }
  for (std::size_t row = 0; row < rows; ++row) {
    TOUCHSTONE_ASSIGN(const std::size_t at, block_at(call, out, indices, row, depth, 0, 0));
    for (std::size_t i = 0; i < inner; ++i) {
      write_one(out, at + i, updates, row * inner + i, reduction);
    }
  }
  return std::vector{out};
}

Outputs one_hot(const Call& call) {
  const Value& indices = call.input(0);
  const auto depth = static_cast<std::int64_t>(call.input(1).number(0));
  const Value& values = call.input(2);
  const std::int64_t rank = indices.rank() + 1;
  const std::size_t axis = call.axis("axis", -1, rank);
  Shape shape = indices.shape();
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), depth);
  const std::size_t inner = element_count(std::span(shape).subspan(axis + 1));
  Value out = empty_like(values, shape);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t o = i / inner / static_cast<std::size_t>(depth);
    const auto d = static_cast<std::int64_t>(i / inner % static_cast<std::size_t>(depth));
    auto index = static_cast<std::int64_t>(indices.number(o * inner + i % inner));
    index = index < 0 ? index + depth : index;
    copy_block(values, index == d ? 1 : 0, out, i, 1);
  }
  return std::vector{out};
}

Outputs non_zero(const Call& call) {
  const Value& x = call.input(0);
  std::vector<std::vector<std::int64_t>> found(x.shape().size());
  TOUCHSTONE_TRY(for_each_index(x.shape(), [&](std::size_t i, const auto& index) -> Result<void> {
    if (x.number(i) != 0) {
      for (std::size_t axis = 0; axis < index.size(); ++axis) {
        found[axis].push_back(static_cast<std::int64_t>(index[axis]));
      }
    }
    return {};
  }));
  std::vector<std::int64_t> flat;
  for (const auto& axis : found) {
    flat.insert(flat.end(), axis.begin(), axis.end());
  }
  const auto many = static_cast<std::int64_t>(found.empty() ? 0 : found[0].size());
  return std::vector{Value::ints({x.rank(), many}, std::move(flat))};
}

Outputs compress(const Call& call) {
  const auto chosen = call.input(1).i();
  const bool flat = !call.node.attributes.contains("axis");
  const Value x =
      flat ? call.input(0).reshaped({static_cast<std::int64_t>(call.input(0).size())}) : call.input(0);
  const std::size_t axis = flat ? 0 : call.axis("axis", 0, x.rank());
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] != 0) {
      kept.push_back(static_cast<std::int64_t>(i));
    }
  }
  const auto count = static_cast<std::int64_t>(kept.size());
  const std::vector<Value> inputs = {x, Value::ints({count}, std::move(kept))};
  Node node;
  node.name = call.node.name;
  node.op_type = call.node.op_type;
  node.attributes["axis"] = {static_cast<std::int64_t>(axis)};
  return gather(Call{node, call.opset, inputs, call.bodies});
}

Outputs reverse_sequence(const Call& call) {
  const Value& x = call.input(0);
  const Value& lengths = call.input(1);
  const std::size_t batch = call.axis("batch_axis", 1, x.rank());
  const std::size_t time = call.axis("time_axis", 0, x.rank());
  const auto strides = strides_of(x.shape());
  Value out = empty_like(x, x.shape());
  TOUCHSTONE_TRY(for_each_index(x.shape(), [&](std::size_t i, const auto& index) -> Result<void> {
    const double stated = lengths.number(index[batch]);
    const auto length =
        static_cast<std::size_t>(std::clamp(stated, 0.0, static_cast<double>(x.shape()[time])));
    const std::size_t from = index[time] < length ? length - 1 - index[time] : index[time];
    copy_block(x, i - index[time] * strides[time] + from * strides[time], out, i, 1);
    return {};
  }));
  return std::vector{out};
}

}  // namespace

const OperatorTable& index_operators() {
  static const OperatorTable kTable = {
      {"Gather", gather},
      {"GatherElements", gather_elements},
      {"GatherND", gather_nd},
      {"ScatterElements", scatter_elements},
      {"ScatterND", scatter_nd},
      {"OneHot", one_hot},
      {"NonZero", non_zero},
      {"Compress", compress},
      {"ReverseSequence", reverse_sequence},
      {"Scatter", scatter_elements},
  };
  return kTable;
}

}  // namespace touchstone
