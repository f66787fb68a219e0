// SPDX-License-Identifier: Apache-2.0
#include "cases.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "graph/half.h"

namespace touchstone {
namespace {

using nlohmann::json;

double real_from(const json& value) {
  return value.is_string() ? std::strtod(value.get_ref<const std::string&>().c_str(), nullptr)
                           : value.get<double>();
}

template <class T, class Convert>
std::vector<std::byte> pack(const json& data, Convert convert) {
  std::vector<std::byte> bytes(data.size() * sizeof(T));
  std::size_t at = 0;
  for (const json& value : data) {
    const T element = convert(value);
    std::memcpy(bytes.data() + at, &element, sizeof(T));
    at += sizeof(T);
  }
  return bytes;
}

template <class T>
std::vector<std::byte> pack_integers(const json& data) {
  return pack<T>(data, [](const json& value) { return value.get<T>(); });
}

std::vector<std::byte> pack_as(DataType type, const json& data) {
  switch (type) {
    case DataType::kFloat:
      return pack<float>(data, [](const json& value) { return static_cast<float>(real_from(value)); });
    case DataType::kDouble:
      return pack<double>(data, real_from);
    case DataType::kFloat16:
      return pack<std::uint16_t>(
          data, [](const json& value) { return float16_bits(static_cast<float>(real_from(value))); });
    case DataType::kInt8:
      return pack_integers<std::int8_t>(data);
    case DataType::kInt16:
      return pack_integers<std::int16_t>(data);
    case DataType::kInt32:
      return pack_integers<std::int32_t>(data);
    case DataType::kUint16:
      return pack_integers<std::uint16_t>(data);
    case DataType::kUint32:
      return pack_integers<std::uint32_t>(data);
    case DataType::kUint64:
      return pack_integers<std::uint64_t>(data);
    case DataType::kUint8:
    case DataType::kBool:
      return pack_integers<std::uint8_t>(data);
    default:
      return pack_integers<std::int64_t>(data);
  }
}

bool is_floating(DataType type) {
  return type == DataType::kFloat || type == DataType::kDouble || type == DataType::kFloat16;
}

CaseTensor tensor_from(const json& object, bool widened) {
  CaseTensor tensor;
  const auto type = data_type_from_string(object.at("type").get<std::string>());
  tensor.spec = {object.at("name").get<std::string>(), type.value_or(DataType::kUndefined),
                 object.at("shape").get<std::vector<std::int64_t>>()};
  if (widened) {
    tensor.spec.type = is_floating(tensor.spec.type) ? DataType::kDouble : DataType::kInt64;
  }
  tensor.bytes = pack_as(tensor.spec.type, object.at("data"));
  return tensor;
}

Result<Case> case_from(const json& object) {
  Case made;
  made.name = object.at("name").get<std::string>();
  TOUCHSTONE_ASSIGN(made.graph, graph_from_json(object.at("graph")));
  for (const json& input : object.at("inputs")) {
    made.inputs.push_back(tensor_from(input, false));
    made.half_precision = made.half_precision || input.at("type") == "float16";
  }
  for (const json& output : object.at("outputs")) {
    made.expected.push_back(tensor_from(output, true));
    made.half_precision = made.half_precision || output.at("type") == "float16";
  }
  return made;
}

Result<void> read_file(const std::filesystem::path& path, std::vector<Case>& cases) {
  TOUCHSTONE_ASSIGN(const std::string text, read_text_file(path));
  try {
    for (const json& object : json::parse(text)) {
      TOUCHSTONE_ASSIGN(Case made, case_from(object));
      made.operator_name = path.stem();
      cases.push_back(std::move(made));
    }
  } catch (const json::exception& error) {
    return fail(Reason::kInvalidModel, "{}: {}", path.string(), error.what());
  }
  return {};
}

}  // namespace

TensorView CaseTensor::view() const {
  TensorView view;
  view.type = spec.type;
  view.shape = spec.shape;
  view.bytes = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  return view;
}

Result<std::vector<Case>> read_cases(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Case> cases;
  for (const auto& file : files) {
    TOUCHSTONE_TRY(read_file(file, cases));
  }
  return cases;
}

}  // namespace touchstone
