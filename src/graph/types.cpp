// SPDX-License-Identifier: Apache-2.0
#include "graph/types.h"

#include <array>

namespace touchstone {
namespace {

struct TypeRow {
  DataType type;
  std::string_view word;
  int bits;
};

constexpr std::array kTypes = {
    TypeRow{DataType::kUndefined, "undefined", 0},
    TypeRow{DataType::kFloat, "float32", 32},
    TypeRow{DataType::kUint8, "uint8", 8},
    TypeRow{DataType::kInt8, "int8", 8},
    TypeRow{DataType::kUint16, "uint16", 16},
    TypeRow{DataType::kInt16, "int16", 16},
    TypeRow{DataType::kInt32, "int32", 32},
    TypeRow{DataType::kInt64, "int64", 64},
    TypeRow{DataType::kString, "string", 0},
    TypeRow{DataType::kBool, "bool", 8},
    TypeRow{DataType::kFloat16, "float16", 16},
    TypeRow{DataType::kDouble, "float64", 64},
    TypeRow{DataType::kUint32, "uint32", 32},
    TypeRow{DataType::kUint64, "uint64", 64},
    TypeRow{DataType::kComplex64, "complex64", 64},
    TypeRow{DataType::kComplex128, "complex128", 128},
    TypeRow{DataType::kBfloat16, "bfloat16", 16},
    TypeRow{DataType::kFloat8E4M3FN, "float8_e4m3fn", 8},
    TypeRow{DataType::kFloat8E4M3FNUZ, "float8_e4m3fnuz", 8},
    TypeRow{DataType::kFloat8E5M2, "float8_e5m2", 8},
    TypeRow{DataType::kFloat8E5M2FNUZ, "float8_e5m2fnuz", 8},
    TypeRow{DataType::kUint4, "uint4", 4},
    TypeRow{DataType::kInt4, "int4", 4},
    TypeRow{DataType::kFloat4E2M1, "float4_e2m1", 4},
    TypeRow{DataType::kFloat8E8M0, "float8_e8m0", 8},
    TypeRow{DataType::kUint2, "uint2", 2},
    TypeRow{DataType::kInt2, "int2", 2},
};

template <class T>
const T* attribute(const Node& node, const std::string& key) {
  const auto found = node.attributes.find(key);
  return found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second.value);
}

}  // namespace

std::string_view to_string(DataType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) {
      return row.word;
    }
  }
  return "unknown";
}

std::optional<DataType> data_type_from_string(std::string_view word) {
  for (const TypeRow& row : kTypes) {
    if (row.word == word) {
      return row.type;
    }
  }
  return std::nullopt;
}

int bits(DataType type) {
  for (const TypeRow& row : kTypes) {
    if (row.type == type) {
      return row.bits;
    }
  }
  return 0;
}

std::size_t byte_size(DataType type, std::size_t count) {
  const auto width = static_cast<std::size_t>(bits(type));
  return width >= 8 ? count * (width / 8) : (count * width + 7) / 8;
}

std::size_t element_count(std::span<const std::int64_t> shape) {
  std::size_t count = 1;
  for (const std::int64_t dimension : shape) {
    count *= static_cast<std::size_t>(dimension);
  }
  return count;
}

std::int64_t Node::int_attribute(const std::string& key, std::int64_t fallback) const {
  const auto* value = attribute<std::int64_t>(*this, key);
  return value == nullptr ? fallback : *value;
}

float Node::float_attribute(const std::string& key, float fallback) const {
  const auto* value = attribute<float>(*this, key);
  return value == nullptr ? fallback : *value;
}

std::string Node::string_attribute(const std::string& key, const std::string& fallback) const {
  const auto* value = attribute<std::string>(*this, key);
  return value == nullptr ? fallback : *value;
}

std::vector<std::int64_t> Node::ints_attribute(const std::string& key,
                                               std::vector<std::int64_t> fallback) const {
  const auto* value = attribute<std::vector<std::int64_t>>(*this, key);
  return value == nullptr ? std::move(fallback) : *value;
}

int Graph::opset() const {
  const auto found = opsets.find("");
  return found == opsets.end() ? 1 : found->second;
}

}  // namespace touchstone
