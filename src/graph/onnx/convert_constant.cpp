// SPDX-License-Identifier: Apache-2.0
// Tensors: raw, typed or external data.
#include <charconv>
#include <cstring>
#include <fstream>
#include <system_error>

#include "graph/onnx/convert.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

// External constants up to here are read: they may be shapes and axes, which inference and folding look into.
constexpr std::uint64_t kReadAtOnce = 1024;
constexpr std::uint64_t kLargestDensified = std::uint64_t{1} << 31;

template <class Stored, class Field>
void append_as(std::vector<std::byte>& bytes, const Field& field) {
  for (const auto value : field) {
    const auto stored = static_cast<Stored>(value);
    const auto* data = reinterpret_cast<const std::byte*>(&stored);
    bytes.insert(bytes.end(), data, data + sizeof stored);
  }
}

// The typed data fields, as onnx.proto assigns them to element types.
std::vector<std::byte> typed_bytes(const onnx::TensorProto& tensor, DataType type) {
  std::vector<std::byte> bytes;
  switch (type) {
    case DataType::kFloat:
    case DataType::kComplex64:
      append_as<float>(bytes, tensor.float_data());
      break;
    case DataType::kDouble:
    case DataType::kComplex128:
      append_as<double>(bytes, tensor.double_data());
      break;
    case DataType::kInt64:
      append_as<std::int64_t>(bytes, tensor.int64_data());
      break;
    case DataType::kUint64:
      append_as<std::uint64_t>(bytes, tensor.uint64_data());
      break;
    case DataType::kUint32:
      append_as<std::uint32_t>(bytes, tensor.uint64_data());
      break;
    case DataType::kInt32:
      append_as<std::int32_t>(bytes, tensor.int32_data());
      break;
    case DataType::kInt16:
    case DataType::kUint16:
    case DataType::kFloat16:
    case DataType::kBfloat16:
      append_as<std::uint16_t>(bytes, tensor.int32_data());
      break;
    default:  // 8 bits and fewer: one byte an entry
      append_as<std::uint8_t>(bytes, tensor.int32_data());
      break;
  }
  return bytes;
}

Result<std::uint64_t> number(const std::string& tensor, const std::string& key, const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return fail(Reason::kInvalidModel, "tensor '{}': the {} of its external data is '{}', not a number",
                tensor, key, text);
  }
  return value;
}

// The data's file, refused where it would be read from outside the model's folder, through a link or by "..".
Result<fs::path> external_file(const std::string& tensor, const std::string& location,
                               const fs::path& folder) {
  std::error_code error;
  const fs::path given(location);
  const fs::path base = fs::weakly_canonical(folder, error);
  const fs::path file = fs::weakly_canonical(base / given, error);
  const fs::path relative = file.lexically_relative(base);
  if (location.empty() || given.is_absolute() || relative.empty() || *relative.begin() == "..") {
    return fail(Reason::kInvalidModel,
                "tensor '{}': its external data '{}' lies outside the model's folder {}; that is not read",
                tensor, location, base.string());
  }
  if (!fs::is_regular_file(file, error)) {
    return fail(Reason::kInvalidModel,
                "tensor '{}': its external data file {} is missing; copy it beside the model", tensor,
                file.string());
  }
  return file;
}

Result<void> read_external(const onnx::TensorProto& tensor, const fs::path& folder, std::uint64_t wanted,
                           Constant& constant) {
  std::string location;
  std::optional<std::uint64_t> length;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") {
      location = entry.value();
    } else if (entry.key() == "offset") {
      TOUCHSTONE_ASSIGN(constant.offset, number(tensor.name(), "offset", entry.value()));
    } else if (entry.key() == "length") {
      TOUCHSTONE_ASSIGN(length, number(tensor.name(), "length", entry.value()));
    }
  }
  TOUCHSTONE_ASSIGN(const fs::path file, external_file(tensor.name(), location, folder));
  constant.file = file.string();
  constant.size = wanted;
  std::error_code error;
  const std::uint64_t available = fs::file_size(file, error);
  if ((length && *length != wanted) || constant.offset > available || wanted > available - constant.offset) {
    return fail(Reason::kInvalidModel,
                "tensor '{}': wants {} bytes from {} of {}, its entry says {}, the file has {}; the file is "
                "truncated or belongs to another model",
                tensor.name(), wanted, constant.offset, constant.file, length.value_or(wanted), available);
  }
  if (wanted <= kReadAtOnce) {
    auto bytes = std::make_shared<std::vector<std::byte>>(wanted);
    std::ifstream stream(file, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(constant.offset));
    if (!stream.read(reinterpret_cast<char*>(bytes->data()), static_cast<std::streamsize>(wanted))) {
      return fail(Reason::kInvalidModel, "tensor '{}': {} cannot be read", tensor.name(), constant.file);
    }
    constant.owned = std::move(bytes);
    constant.file.clear();
    constant.offset = 0;
  }
  return {};
}

Result<std::uint64_t> checked_size(const onnx::TensorProto& tensor, Constant& constant) {
  std::uint64_t count = 1;
  for (const std::int64_t dimension : tensor.dims()) {
    if (dimension < 0 ||
        (dimension > 0 && count > (std::uint64_t{1} << 48) / static_cast<std::uint64_t>(dimension))) {
      return fail(Reason::kInvalidModel, "tensor '{}': impossible dimension {}", tensor.name(), dimension);
    }
    count *= static_cast<std::uint64_t>(dimension);
    constant.shape.push_back(dimension);
  }
  return byte_size(constant.type, count);
}

}  // namespace

Result<Constant> constant_from(const onnx::TensorProto& tensor, const fs::path& folder) {
  Constant constant;
  constant.type = static_cast<DataType>(tensor.data_type());
  if (to_string(constant.type) == "unknown" || constant.type == DataType::kUndefined) {
    return fail(Reason::kInvalidModel, "tensor '{}': element type {} is not known", tensor.name(),
                tensor.data_type());
  }
  TOUCHSTONE_ASSIGN(const std::uint64_t wanted, checked_size(tensor, constant));
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    TOUCHSTONE_TRY(read_external(tensor, folder, wanted, constant));
    return constant;
  }
  if (constant.type == DataType::kString) {
    constant.strings.assign(tensor.string_data().begin(), tensor.string_data().end());
    if (constant.strings.size() != element_count(constant.shape)) {
      return fail(Reason::kInvalidModel, "tensor '{}': holds {} strings, its shape wants {}", tensor.name(),
                  constant.strings.size(), element_count(constant.shape));
    }
    return constant;
  }
  if (tensor.has_raw_data()) {
    const auto raw = std::as_bytes(std::span(tensor.raw_data()));
    constant.owned = std::make_shared<std::vector<std::byte>>(raw.begin(), raw.end());
  } else {
    constant.owned = std::make_shared<std::vector<std::byte>>(typed_bytes(tensor, constant.type));
  }
  constant.size = constant.owned->size();
  if (constant.size != wanted) {
    return fail(Reason::kInvalidModel, "tensor '{}': holds {} bytes, its shape wants {}", tensor.name(),
                constant.size, wanted);
  }
  return constant;
}

Result<Constant> constant_from(const onnx::SparseTensorProto& sparse, const fs::path& folder) {
  const std::string& name = sparse.values().name();
  TOUCHSTONE_ASSIGN(const Constant values, constant_from(sparse.values(), folder));
  TOUCHSTONE_ASSIGN(const Constant indices, constant_from(sparse.indices(), folder));
  onnx::TensorProto dense_proto;
  dense_proto.set_name(name);
  *dense_proto.mutable_dims() = sparse.dims();
  Constant dense;
  dense.type = values.type;
  TOUCHSTONE_ASSIGN(dense.size, checked_size(dense_proto, dense));
  const auto width = static_cast<std::size_t>(bits(values.type)) / 8;
  if (dense.size > kLargestDensified || width == 0 || !values.owned || !indices.owned ||
      indices.type != DataType::kInt64) {
    return fail(Reason::kUnsupported,
                "sparse tensor '{}' ({}, {} bytes when dense) cannot be made dense: it must be of whole-byte "
                "elements, embedded, with int64 indices, and at most 2 GiB",
                name, to_string(values.type), dense.size);
  }
  const std::size_t count = values.size / width;
  const std::size_t rank = indices.shape.size() == 2 ? dense.shape.size() : 1;
  if (indices.size != count * rank * sizeof(std::int64_t)) {
    return fail(Reason::kInvalidModel, "sparse tensor '{}': {} values, but {} bytes of indices", name, count,
                indices.size);
  }
  dense.owned = std::make_shared<std::vector<std::byte>>(dense.size);
  for (std::size_t i = 0; i < count; ++i) {
    std::int64_t position = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      std::int64_t index = 0;
      std::memcpy(&index, indices.owned->data() + (i * rank + d) * sizeof index, sizeof index);
      const std::int64_t extent = rank == 1 ? static_cast<std::int64_t>(dense.size / width) : dense.shape[d];
      if (index < 0 || index >= extent) {
        return fail(Reason::kInvalidModel, "sparse tensor '{}': index {} is outside of 0 to {}", name, index,
                    extent - 1);
      }
      position = position * extent + index;
    }
    std::memcpy(dense.owned->data() + static_cast<std::size_t>(position) * width,
                values.owned->data() + i * width, width);
  }
  return dense;
}

}  // namespace touchstone
