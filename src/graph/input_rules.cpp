// SPDX-License-Identifier: Apache-2.0
// What each input of a graph wants, from how the graph uses it.
#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "graph/inputs.h"

namespace touchstone {
namespace {

bool is_integer(DataType type) {
  switch (type) {
    case DataType::kInt8:
    case DataType::kInt16:
    case DataType::kInt32:
    case DataType::kInt64:
    case DataType::kUint8:
    case DataType::kUint16:
    case DataType::kUint32:
    case DataType::kUint64:
      return true;
    default:
      return false;
  }
}

// Operators that hand values on unchanged (or only in another type or shape).
bool passes_through(const std::string& op_type) {
  static const std::set<std::string> kOperators = {"Cast",    "Identity",  "Unsqueeze", "Squeeze", "Reshape",
                                                   "Flatten", "Transpose", "Expand",    "Slice"};
  return kOperators.contains(op_type);
}

std::optional<std::int64_t> rows_of(const Graph& graph, const std::string& table, std::int64_t axis) {
  if (const auto found = graph.initializers.find(table); found != graph.initializers.end()) {
    const auto& shape = found->second.shape;
    const auto index =
        static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis);
    return index < shape.size() ? std::optional(shape[index]) : std::nullopt;
  }
  return std::nullopt;
}

// The fewest rows of any table that `value` indexes, following operators that pass values through.
std::optional<std::int64_t> indexed_rows(const Graph& graph, const std::string& value, int depth = 0) {
  std::optional<std::int64_t> fewest;
  const auto consider = [&](std::optional<std::int64_t> rows) {
    if (rows && (!fewest || *rows < *fewest)) {
      fewest = rows;
    }
  };
  for (const Node& node : graph.nodes) {
    if (node.inputs.size() > 1 && node.op_type == "Gather" && node.inputs[1] == value) {
      consider(rows_of(graph, node.inputs[0], node.int_attribute("axis", 0)));
    } else if (!node.inputs.empty() && node.inputs[0] == value && passes_through(node.op_type) && depth < 8) {
      consider(indexed_rows(graph, node.outputs[0], depth + 1));
    }
  }
  return fewest;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool named(const InputRule& rule, std::string_view part) {
  return lower(rule.name).find(part) != std::string::npos;
}

void choose(const Graph& graph, InputRule& rule) {
  using Kind = InputRule::Kind;
  if (named(rule, "mask")) {
    rule.kind = Kind::kMask;
    rule.why = "its name says mask";
    return;
  }
  if (rule.type == DataType::kBool) {
    rule.kind = Kind::kOnes;
    rule.why = "boolean";
    return;
  }
  if (!is_integer(rule.type)) {
    rule.kind = Kind::kNormal;
    rule.low = 0;
    rule.high = 1;
    rule.why = "floating point";
    return;
  }
  if (const auto rows = indexed_rows(graph, rule.name)) {
    rule.kind = named(rule, "position") ? Kind::kPositions : Kind::kIntegers;
    rule.low = 0;
    rule.high = static_cast<double>(std::max<std::int64_t>(1, *rows));
    rule.why = "reads a table of " + std::to_string(*rows) + " rows";
    return;
  }
  rule.kind = named(rule, "position") ? Kind::kPositions : Kind::kIntegers;
  rule.low = 0;
  rule.high = 2;
  rule.why = "an integer that no table reads: 0 or 1";
}

}  // namespace

std::vector<InputRule> infer_input_rules(const Graph& graph) {
  std::vector<InputRule> rules;
  for (const ValueInfo& input : graph.inputs) {
    InputRule rule;
    rule.name = input.name;
    rule.type = input.type;
    rule.shape = input.shape.value_or(std::vector<Dimension>{});
    choose(graph, rule);
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace touchstone
