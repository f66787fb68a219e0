// SPDX-License-Identifier: Apache-2.0
#include "reference/value.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "graph/half.h"

namespace touchstone {
namespace {

int reference_threads = 1;
thread_local bool inside_parallel = false;

template <class Stored, class Out, class Convert>
std::vector<Out> widen(std::span<const std::byte> bytes, Convert convert) {
  std::vector<Out> out(bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < out.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    out[i] = static_cast<Out>(convert(stored));
  }
  return out;
}

template <class Stored>
std::vector<std::int64_t> widen_int(std::span<const std::byte> bytes) {
  return widen<Stored, std::int64_t>(bytes, [](Stored value) { return value; });
}

template <class Stored>
std::vector<double> widen_real(std::span<const std::byte> bytes) {
  return widen<Stored, double>(bytes, [](Stored value) { return value; });
}

}  // namespace

bool is_real(DataType type) {
  switch (type) {
    case DataType::kFloat:
    case DataType::kDouble:
    case DataType::kFloat16:
    case DataType::kBfloat16:
      return true;
    default:
      return false;
  }
}

Value Value::reals(Shape shape, std::vector<double> data, DataType type) {
  Value value;
  value.type_ = type;
  value.shape_ = std::move(shape);
  value.reals_ = std::make_shared<std::vector<double>>(std::move(data));
  return value;
}

Value Value::ints(Shape shape, std::vector<std::int64_t> data, DataType type) {
  Value value;
  value.type_ = type;
  value.shape_ = std::move(shape);
  value.ints_ = std::make_shared<std::vector<std::int64_t>>(std::move(data));
  return value;
}

Value Value::weights(Shape shape, std::span<const float> data) {
  Value value;
  value.type_ = DataType::kFloat;
  value.shape_ = std::move(shape);
  value.mapped_ = data;
  return value;
}

Value Value::empty_reals(Shape shape, DataType type) {
  const std::size_t count = element_count(shape);
  return reals(std::move(shape), std::vector<double>(count), type);
}

Value Value::empty_ints(Shape shape, DataType type) {
  const std::size_t count = element_count(shape);
  return ints(std::move(shape), std::vector<std::int64_t>(count), type);
}

Result<Value> Value::from_bytes(DataType type, Shape shape, std::span<const std::byte> bytes) {
  const std::size_t wanted = byte_size(type, element_count(shape));
  if (bytes.size() != wanted) {
    return fail(Reason::kInvalidModel, "a {} tensor of shape {} wants {} bytes, {} came", to_string(type),
                describe(shape), wanted, bytes.size());
  }
  const auto real = [&](std::vector<double> data) { return reals(std::move(shape), std::move(data), type); };
  const auto integer = [&](std::vector<std::int64_t> data) {
    return ints(std::move(shape), std::move(data), type);
  };
  switch (type) {
    case DataType::kFloat:
      return real(widen_real<float>(bytes));
    case DataType::kDouble:
      return real(widen_real<double>(bytes));
    case DataType::kFloat16:
      return real(widen<std::uint16_t, double>(bytes, float_from_float16));
    case DataType::kBfloat16:
      return real(widen<std::uint16_t, double>(bytes, float_from_bfloat16));
    case DataType::kInt8:
      return integer(widen_int<std::int8_t>(bytes));
    case DataType::kInt16:
      return integer(widen_int<std::int16_t>(bytes));
    case DataType::kInt32:
      return integer(widen_int<std::int32_t>(bytes));
    case DataType::kInt64:
      return integer(widen_int<std::int64_t>(bytes));
    case DataType::kUint8:
      return integer(widen_int<std::uint8_t>(bytes));
    case DataType::kUint16:
      return integer(widen_int<std::uint16_t>(bytes));
    case DataType::kUint32:
      return integer(widen_int<std::uint32_t>(bytes));
    case DataType::kUint64:
      return integer(widen_int<std::uint64_t>(bytes));
    case DataType::kBool:
      return integer(widen_int<std::uint8_t>(bytes));
    default:
      return fail(Reason::kUnsupported, "the reference does not compute with {}", to_string(type));
  }
}

std::span<const std::int64_t> Value::i() const {
  if (!ints_) {
    throw std::out_of_range("integers are wanted");
  }
  return *ints_;
}

std::span<const double> Value::d() const {
  if (!real()) {
    throw std::out_of_range("floating-point numbers are wanted");
  }
  if (!reals_) {
    reals_ = std::make_shared<std::vector<double>>(mapped_.begin(), mapped_.end());
  }
  return *reals_;
}

double Value::number(std::size_t index) const {
  if (index >= size()) {
    throw std::out_of_range("an element beyond the tensor's end");
  }
  if (!real()) {
    return static_cast<double>((*ints_)[index]);
  }
  return reals_ ? (*reals_)[index] : static_cast<double>(mapped_[index]);
}

Value Value::reshaped(Shape shape) const {
  Value value = *this;
  value.shape_ = std::move(shape);
  return value;
}

Value Value::retyped(DataType type) const {
  Value value = *this;
  value.type_ = type;
  return value;
}

std::vector<std::size_t> strides_of(const Shape& shape) {
  std::vector<std::size_t> strides(shape.size());
  std::size_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= static_cast<std::size_t>(shape[axis]);
  }
  return strides;
}

Result<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()));
  for (std::size_t back = 1; back <= out.size(); ++back) {
    const std::int64_t x = back <= a.size() ? a[a.size() - back] : 1;
    const std::int64_t y = back <= b.size() ? b[b.size() - back] : 1;
    if (x != y && x != 1 && y != 1) {
      return fail(Reason::kInvalidInput, "shapes {} and {} do not broadcast", describe(a), describe(b));
    }
    out[out.size() - back] = x == 1 ? y : x;
  }
  return out;
}

std::vector<std::size_t> broadcast_strides(const Shape& from, const Shape& to) {
  const auto own = strides_of(from);
  std::vector<std::size_t> strides(to.size(), 0);
  const std::size_t offset = to.size() - from.size();
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    strides[offset + axis] = from[axis] == 1 ? 0 : own[axis];
  }
  return strides;
}

std::string describe(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

void set_reference_threads(int threads) {
  reference_threads = std::max(1, threads);
}

void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  if (count == 0) {
    return;
  }
  const auto most = inside_parallel ? std::size_t{1} : static_cast<std::size_t>(reference_threads);
  const std::size_t parts = std::clamp<std::size_t>(count / std::max<std::size_t>(grain, 1), 1, most);
  const std::size_t share = (count + parts - 1) / parts;
  std::vector<std::jthread> threads;
  for (std::size_t begin = share; begin < count; begin += share) {
    threads.emplace_back([&body, begin, end = std::min(begin + share, count)] {
      inside_parallel = true;
      body(begin, end);
    });
  }
  const bool outer = std::exchange(inside_parallel, inside_parallel || parts > 1);
  body(0, std::min(share, count));
  inside_parallel = outer;
}

}  // namespace touchstone
