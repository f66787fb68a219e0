// SPDX-License-Identifier: Apache-2.0
// Tensors of the reference: every floating type as double, every integer type and bool as int64.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/types.h"

namespace touchstone {

using Shape = std::vector<std::int64_t>;

bool is_real(DataType type);

/// A tensor; copies share the data. Mapped float32 weights stay as they are (`weights`) until an operator
/// needs them as doubles; matrix products and Gather read them in place.
class Value {
 public:
  Value() = default;
  static Value reals(Shape shape, std::vector<double> data, DataType type = DataType::kFloat);
  static Value ints(Shape shape, std::vector<std::int64_t> data, DataType type = DataType::kInt64);
  static Value weights(Shape shape, std::span<const float> data);
  /// Uninitialised data of `shape`.
  static Value empty_reals(Shape shape, DataType type = DataType::kFloat);
  static Value empty_ints(Shape shape, DataType type = DataType::kInt64);
  /// From the bytes of a tensor in its own type. Errors: unsupported (strings, complex, 4- and 8-bit floats).
  static Result<Value> from_bytes(DataType type, Shape shape, std::span<const std::byte> bytes);

  DataType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  std::size_t size() const { return element_count(shape_); }
  std::int64_t rank() const { return static_cast<std::int64_t>(shape_.size()); }
  bool real() const { return is_real(type_); }
  bool absent() const { return type_ == DataType::kUndefined; }

  /// The mapped weights, or empty where the data is already double.
  std::span<const float> mapped() const { return mapped_; }
  /// The data as doubles; widens mapped weights on first use. Throws std::out_of_range for integers, and `i`
  /// for reals.
  std::span<const double> d() const;
  std::span<const std::int64_t> i() const;
  std::span<double> d_mutable() { return *reals_; }
  std::span<std::int64_t> i_mutable() { return *ints_; }
  /// Element `index` as a double, whatever the type.
  double number(std::size_t index) const;

  /// The same data under another shape (same size) or another element type (of the same kind).
  Value reshaped(Shape shape) const;
  Value retyped(DataType type) const;

 private:
  DataType type_ = DataType::kUndefined;
  Shape shape_;
  mutable std::shared_ptr<std::vector<double>> reals_;
  std::shared_ptr<std::vector<std::int64_t>> ints_;
  std::span<const float> mapped_;
};

/// Row-major strides, in elements.
std::vector<std::size_t> strides_of(const Shape& shape);
/// NumPy's broadcasting. Errors: invalid-input, naming both shapes.
Result<Shape> broadcast_shapes(const Shape& a, const Shape& b);
/// The strides by which `from` is read when it is broadcast to `to`: 0 where it repeats.
std::vector<std::size_t> broadcast_strides(const Shape& from, const Shape& to);
std::string describe(const Shape& shape);

/// Calls `body(begin, end)` over [0, count) on the reference's threads; serial below `grain` elements.
void parallel_for(std::size_t count, std::size_t grain,
                  const std::function<void(std::size_t, std::size_t)>& body);
void set_reference_threads(int threads);

}  // namespace touchstone
