// SPDX-License-Identifier: Apache-2.0
#include "lowering.h"

#include <fmt/ranges.h>

namespace touchstone::pytorch {
namespace {

const LoweringTable& all_lowerings() {
  static const LoweringTable kAll = [] {
    LoweringTable all;
    for (const LoweringTable* family :
         {&elementwise_lowerings(), &shape_lowerings(), &index_lowerings(), &matrix_lowerings(),
          &reduce_lowerings(), &convolution_lowerings(), &recurrent_lowerings()}) {
      all.insert(family->begin(), family->end());
    }
    return all;
  }();
  return kAll;
}

constexpr std::pair<DataType, at::ScalarType> kTypes[] = {
    {DataType::kFloat, at::kFloat}, {DataType::kDouble, at::kDouble},     {DataType::kFloat16, at::kHalf},
    {DataType::kInt64, at::kLong},  {DataType::kBfloat16, at::kBFloat16}, {DataType::kInt32, at::kInt},
    {DataType::kInt16, at::kShort}, {DataType::kInt8, at::kChar},         {DataType::kUint8, at::kByte},
    {DataType::kBool, at::kBool},
};

}  // namespace

tl::unexpected<Error> NodeContext::unsupported(const std::string& what) const {
  return fail(Reason::kUnsupportedOperator, "{} (node '{}'): {} is not lowered to PyTorch", node.op_type,
              node.name, what);
}

Lowering find_lowering(const Node& node) {
  const auto found =
      all_lowerings().find(node.domain.empty() ? node.op_type : node.domain + "." + node.op_type);
  return found == all_lowerings().end() ? nullptr : found->second;
}

Result<at::ScalarType> scalar_type(DataType type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == type) {
      return theirs;
    }
  }
  return fail(Reason::kUnsupported, "PyTorch's lowering has no element type {}", to_string(type));
}

DataType data_type(at::ScalarType type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == type) {
      return ours;
    }
  }
  return DataType::kUndefined;
}

std::vector<std::int64_t> integers(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.to(at::kLong).contiguous();
  const auto* data = flat.const_data_ptr<std::int64_t>();
  return {data, data + flat.numel()};
}

std::vector<std::int64_t> integers_of(const NodeContext& context, const Tensors& inputs, std::size_t index,
                                      const std::string& attribute, std::vector<std::int64_t> fallback) {
  if (index < inputs.size() && inputs[index].defined()) {
    return integers(inputs[index]);
  }
  return context.node.ints_attribute(attribute, std::move(fallback));
}

Script call_text(std::string function) {
  return [function](const std::vector<std::string>& inputs) {
    return fmt::format("{}({})", function, fmt::join(inputs, ", "));
  };
}

Script infix_text(std::string symbol) {
  return [symbol](const std::vector<std::string>& inputs) {
    return fmt::format("{} {} {}", inputs[0], symbol, inputs[1]);
  };
}

}  // namespace touchstone::pytorch
