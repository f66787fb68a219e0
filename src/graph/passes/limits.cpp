// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/limits.h"

#include <cstring>

#include "graph/bundle.h"

namespace touchstone {
namespace {

constexpr std::int64_t kShortest = 8;
constexpr std::int64_t kLongest = std::int64_t{1} << 24;

bool counts_up(const Constant& constant, WeightMap& weights) {
  const bool a_row = constant.shape.size() == 1 || (constant.shape.size() == 2 && constant.shape[0] == 1);
  if (constant.type != DataType::kInt64 || !a_row || constant.shape.back() < kShortest ||
      constant.shape.back() > kLongest) {
    return false;
  }
  const auto bytes = weights.bytes(constant);
  if (!bytes || bytes->size() != static_cast<std::size_t>(constant.shape.back()) * sizeof(std::int64_t)) {
    return false;
  }
  for (std::int64_t i = 0; i < constant.shape.back(); ++i) {
    std::int64_t value = 0;
    std::memcpy(&value, bytes->data() + static_cast<std::size_t>(i) * sizeof value, sizeof value);
    if (value != i) {
      return false;
    }
  }
  return true;
}

const Constant* constant_named(const Graph& graph, const std::string& name) {
  if (const auto found = graph.initializers.find(name); found != graph.initializers.end()) {
    return &found->second;
  }
  for (const Node& node : graph.nodes) {
    if (node.op_type == "Constant" && node.outputs.front() == name) {
      const auto value = node.attributes.find("value");
      return value == node.attributes.end() ? nullptr : std::get_if<Constant>(&value->second.value);
    }
  }
  return nullptr;
}

}  // namespace

std::optional<std::int64_t> sequence_limit(const Graph& graph) {
  std::optional<std::int64_t> limit;
  WeightMap weights;
  for (const Node& node : graph.nodes) {
    if (node.op_type != "Slice" || node.inputs.empty()) {
      continue;
    }
    const Constant* constant = constant_named(graph, node.inputs[0]);
    if (constant != nullptr && counts_up(*constant, weights)) {
      limit = std::min(limit.value_or(kLongest), constant->shape.back());
    }
  }
  return limit;
}

}  // namespace touchstone
