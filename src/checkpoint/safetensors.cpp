// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "checkpoint/checkpoint.h"
#include "checkpoint/mapped_file.h"

namespace touchstone {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit

std::optional<DataType> type_of(const std::string& word) {
  static const std::map<std::string, DataType> kTypes = {
      {"F64", DataType::kDouble},        {"F32", DataType::kFloat},
      {"F16", DataType::kFloat16},       {"BF16", DataType::kBfloat16},
      {"I64", DataType::kInt64},         {"I32", DataType::kInt32},
      {"I16", DataType::kInt16},         {"I8", DataType::kInt8},
      {"U8", DataType::kUint8},          {"BOOL", DataType::kBool},
      {"U16", DataType::kUint16},        {"U32", DataType::kUint32},
      {"U64", DataType::kUint64},        {"F8_E4M3", DataType::kFloat8E4M3FN},
      {"F8_E5M2", DataType::kFloat8E5M2}};
  const auto found = kTypes.find(word);
  return found == kTypes.end() ? std::nullopt : std::optional(found->second);
}

// The number of bytes a shape takes; none where it does not fit into 63 bits.
std::optional<std::uint64_t> size_of(DataType type, const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    empty = empty || extent == 0;
    if (extent < 0 || __builtin_mul_overflow(elements, std::max<std::int64_t>(extent, 1), &elements) ||
        elements > std::numeric_limits<std::int64_t>::max() / 16) {
      return std::nullopt;
    }
  }
  return empty ? 0 : byte_size(type, static_cast<std::size_t>(elements));
}

Result<StoredTensor> tensor_of(const std::shared_ptr<const MappedFile>& file, const std::string& name,
                               const json& entry, std::uint64_t data_begin) {
  const auto lies = [&](const std::string& what) {
    return fail(Reason::kInvalidModel, "{}: tensor '{}': {}", file->path(), name, what);
  };
  StoredTensor tensor;
  tensor.file = file->path();
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  try {
    const auto word = entry.at("dtype").get<std::string>();
    const auto type = type_of(word);
    if (!type) {
      return fail(Reason::kUnsupported, "{}: tensor '{}' is of type {}, which is not read", file->path(),
                  name, word);
    }
    tensor.type = *type;
    tensor.shape = entry.at("shape").get<std::vector<std::int64_t>>();
    begin = entry.at("data_offsets").at(0).get<std::uint64_t>();
    end = entry.at("data_offsets").at(1).get<std::uint64_t>();
  } catch (const json::exception& error) {
    return lies(fmt::format("its entry in the header is not as the format has it: {}", error.what()));
  }
  const std::uint64_t available = file->bytes().size() - data_begin;
  if (begin > end || end > available) {
    return lies(fmt::format("the header places it at bytes {} to {} of {}; is the file truncated?", begin,
                            end, available));
  }
  const auto size = size_of(tensor.type, tensor.shape);
  if (!size || *size != end - begin) {
    return lies(fmt::format("{} [{}] does not take the {} bytes that the header gives it",
                            to_string(tensor.type), fmt::join(tensor.shape, ", "), end - begin));
  }
  std::int64_t stride = 1;
  tensor.strides.resize(tensor.shape.size());
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    tensor.strides[i] = stride;
    stride *= std::max<std::int64_t>(tensor.shape[i], 1);
  }
  tensor.read = [file, offset = data_begin + begin, length = *size](const auto& use) -> Result<void> {
    TOUCHSTONE_TRY(use(file->bytes().subspan(offset, length)));
    file->forget(offset, length);
    return {};
  };
  return tensor;
}

}  // namespace

Result<TensorIndex> read_safetensors(const std::string& path) {
  static_assert(std::endian::native == std::endian::little);
  TOUCHSTONE_ASSIGN(const auto file, MappedFile::open(path));
  const auto bytes = file->bytes();
  std::uint64_t length = 0;
  if (bytes.size() < sizeof(length)) {
    return fail(Reason::kInvalidModel, "{}: {} bytes are no safetensors file", path, bytes.size());
  }
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > bytes.size() - sizeof(length) || length > kLongestHeader) {
    return fail(Reason::kInvalidModel, "{}: its header is said to be {} bytes long, in a file of {}", path,
                length, bytes.size());
  }
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + sizeof(length);
  const json header = json::parse(text, text + length, nullptr, false);
  if (!header.is_object()) {
    return fail(Reason::kInvalidModel, "{}: its header is not a JSON object", path);
  }
  TensorIndex index;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      continue;
    }
    TOUCHSTONE_ASSIGN(index[name], tensor_of(file, name, entry, sizeof(length) + length));
  }
  return index;
}

}  // namespace touchstone
