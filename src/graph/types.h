// SPDX-License-Identifier: Apache-2.0
// The model as data, with ONNX's semantics. Nothing here knows protobuf; onnx_io.h does the conversion.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace touchstone {

/// Element types, numbered as ONNX's TensorProto.DataType.
enum class DataType : std::int32_t {
  kUndefined = 0,
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBfloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};

/// `float32`, `int64`, `bfloat16`, ... (numpy's names where it has one).
std::string_view to_string(DataType type);
std::optional<DataType> data_type_from_string(std::string_view word);
/// Bits of one element; 0 for strings and undefined. Types below 8 bits are packed, two or four to a byte.
int bits(DataType type);
/// Bytes that `count` elements take, packed types rounded up.
std::size_t byte_size(DataType type, std::size_t count);

/// Product of the dimensions; 1 for a scalar.
std::size_t element_count(std::span<const std::int64_t> shape);

/// A tensor that somebody else owns: contiguous, row-major, little-endian.
struct TensorView {
  DataType type = DataType::kUndefined;
  std::vector<std::int64_t> shape;
  std::span<std::byte> bytes;
};

/// A dimension: a number, a name (`batch`), or neither (unknown).
struct Dimension {
  std::optional<std::int64_t> value;
  std::string symbol;
  bool operator==(const Dimension&) const = default;
};

/// A value's name, element type and shape; `shape` is absent where even the rank is unknown.
struct ValueInfo {
  std::string name;
  DataType type = DataType::kUndefined;
  std::optional<std::vector<Dimension>> shape;
};

/// Constant data. The bytes lie in memory (`owned`) or in a file (`file`, from `offset`); `view` below maps
/// either. String tensors keep `strings` instead.
struct Constant {
  DataType type = DataType::kUndefined;
  std::vector<std::int64_t> shape;
  std::shared_ptr<std::vector<std::byte>> owned;
  std::string file;          // absolute, or relative to the folder of graph.json
  std::uint64_t offset = 0;  // bytes into `file`
  std::uint64_t size = 0;    // bytes of data, in memory or in the file
  std::vector<std::string> strings;
};

struct Graph;

struct Attribute {
  using Value = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
                             std::vector<std::string>, Constant, std::shared_ptr<Graph>>;
  Value value;
};

/// One operator call. An empty input name is an omitted optional input.
struct Node {
  std::string name;
  std::string op_type;
  std::string domain;  // empty is ONNX's default domain
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::map<std::string, Attribute> attributes;

  /// The attribute's value, or `fallback` where it is absent (or of another kind).
  std::int64_t int_attribute(const std::string& key, std::int64_t fallback) const;
  float float_attribute(const std::string& key, float fallback) const;
  std::string string_attribute(const std::string& key, const std::string& fallback) const;
  std::vector<std::int64_t> ints_attribute(const std::string& key,
                                           std::vector<std::int64_t> fallback = {}) const;
};

/// Nodes are in topological order. `inputs` never lists initializers (inputs that have a default are in
/// `initializers` only, as IR 3 graphs name them twice).
struct Graph {
  std::string name;
  std::map<std::string, int> opsets;  // domain -> version
  std::vector<ValueInfo> inputs;
  std::vector<ValueInfo> outputs;
  std::vector<Node> nodes;
  std::map<std::string, Constant> initializers;
  std::map<std::string, ValueInfo> values;  // what shape inference found, by value name

  int opset() const;  // of the default domain
};

}  // namespace touchstone
