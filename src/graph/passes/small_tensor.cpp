// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/small_tensor.h"

#include <cstring>

#include "graph/bundle.h"

namespace touchstone {
namespace {

template <class T, class Number>
std::vector<Number> read_as(const Constant& constant) {
  std::vector<Number> numbers(constant.owned->size() / sizeof(T));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    T value;
    std::memcpy(&value, constant.owned->data() + i * sizeof value, sizeof value);
    numbers[i] = static_cast<Number>(value);
  }
  return numbers;
}

template <class T, class Number>
Constant write_as(const SmallTensor& tensor, const std::vector<Number>& numbers) {
  std::vector<T> values;
  values.reserve(numbers.size());
  for (const Number number : numbers) {
    values.push_back(static_cast<T>(number));
  }
  return make_constant<T>(tensor.type, tensor.shape, values);
}

}  // namespace

std::optional<SmallTensor> small_tensor(const Constant& constant) {
  if (!constant.owned || constant.owned->size() > kLargestFolded * sizeof(std::int64_t)) {
    return std::nullopt;
  }
  SmallTensor tensor{constant.type, constant.shape, {}, {}};
  switch (constant.type) {
    case DataType::kFloat:
      tensor.floats = read_as<float, double>(constant);
      break;
    case DataType::kDouble:
      tensor.floats = read_as<double, double>(constant);
      break;
    case DataType::kInt64:
      tensor.ints = read_as<std::int64_t, std::int64_t>(constant);
      break;
    case DataType::kInt32:
      tensor.ints = read_as<std::int32_t, std::int64_t>(constant);
      break;
    case DataType::kBool:
      tensor.ints = read_as<std::uint8_t, std::int64_t>(constant);
      break;
    default:
      return std::nullopt;
  }
  if (tensor.size() > kLargestFolded || tensor.size() != element_count(tensor.shape)) {
    return std::nullopt;
  }
  return tensor;
}

Constant to_constant(const SmallTensor& tensor) {
  switch (tensor.type) {
    case DataType::kFloat:
      return write_as<float>(tensor, tensor.floats);
    case DataType::kDouble:
      return write_as<double>(tensor, tensor.floats);
    case DataType::kInt32:
      return write_as<std::int32_t>(tensor, tensor.ints);
    case DataType::kBool:
      return write_as<std::uint8_t>(tensor, tensor.ints);
    default:
      return write_as<std::int64_t>(tensor, tensor.ints);
  }
}

std::optional<SmallTensor> evaluate(const Node& node, int opset,
                                    const std::vector<const SmallTensor*>& inputs) {
  if (!node.domain.empty() || node.outputs.size() != 1) {
    return std::nullopt;
  }
  auto result = evaluate_arithmetic(node, inputs);
  return result ? result : evaluate_movement(node, opset, inputs);
}

}  // namespace touchstone
