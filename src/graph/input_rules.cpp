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

// An input of an operator whose very value decides what is computed: nothing random will do.
struct Meaning {
  std::string_view op_type;
  std::size_t input;
  std::string_view words;
};

constexpr Meaning kMeanings[] = {
    {"Loop", 0, "the number of iterations"},
    {"Range", 0, "the start"},
    {"Range", 1, "the limit"},
    {"Range", 2, "the step"},
    {"Reshape", 1, "the shape"},
    {"Expand", 1, "the shape"},
    {"ConstantOfShape", 0, "the shape"},
    {"CenterCropPad", 1, "the shape"},
    {"Tile", 1, "the repeats"},
    {"TopK", 1, "the number of results"},
    {"Slice", 1, "the starts"},
    {"Slice", 2, "the ends"},
    {"Slice", 3, "the axes"},
    {"Slice", 4, "the steps"},
    {"Pad", 1, "the widths"},
    {"Pad", 3, "the axes"},
    {"Split", 1, "the lengths"},
    {"Squeeze", 1, "the axes"},
    {"Unsqueeze", 1, "the axes"},
    {"CumSum", 1, "the axis"},
    {"Trilu", 1, "the diagonal"},
    {"OneHot", 1, "the depth"},
    {"Resize", 1, "the region"},
    {"Resize", 2, "the scales"},
    {"Resize", 3, "the sizes"},
    {"Upsample", 1, "the scales"},
    {"ReverseSequence", 1, "the lengths"},
    {"RNN", 4, "the lengths"},
    {"GRU", 4, "the lengths"},
    {"LSTM", 4, "the lengths"},
    {"NonMaxSuppression", 2, "the number of boxes"},
    {"NonMaxSuppression", 3, "the threshold of overlap"},
    {"NonMaxSuppression", 4, "the threshold of scores"},
    {"Clip", 1, "the lower bound"},
    {"Clip", 2, "the upper bound"},
    {"Dropout", 1, "the ratio"},
    {"DFT", 1, "the length"},
    {"STFT", 1, "the step"},
    {"STFT", 3, "the length of a frame"},
    {"BlackmanWindow", 0, "the size"},
    {"HammingWindow", 0, "the size"},
    {"HannWindow", 0, "the size"},
    {"MelWeightMatrix", 0, "the number of bins"},
};

std::string node_text(const Node& node) {
  const std::string& name = !node.name.empty() || node.outputs.empty() ? node.name : node.outputs.front();
  return node.op_type + " '" + name + "'";
}

// What `value` is to the operators that it decides for, following those that pass it on; empty where it is
// data like any.
std::string meaning_of(const Graph& graph, const std::string& value, int depth = 0) {
  for (const Node& node : graph.nodes) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != value || !node.domain.empty()) {
        continue;
      }
      const bool reduces = node.op_type.starts_with("Reduce") && i == 1;
      const auto* meaning = std::find_if(std::begin(kMeanings), std::end(kMeanings), [&](const Meaning& row) {
        return row.op_type == node.op_type && row.input == i;
      });
      if (reduces || meaning != std::end(kMeanings)) {
        return std::string(reduces ? "the axes" : meaning->words) + " of " + node_text(node);
      }
      const bool passed = (i == 0 && passes_through(node.op_type)) || node.op_type == "Concat";
      if (passed && depth < 8) {
        if (std::string found = meaning_of(graph, node.outputs[0], depth + 1); !found.empty()) {
          return found;
        }
      }
    }
  }
  return "";
}

// Names that exporters give to what only the user can know.
bool named_as_unknown(const std::string& name, DataType type) {
  const auto says = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (is_integer(type)) {
    return says("length") || says("_lens") || name.ends_with("_len") || says("bucket") || says("trip_count");
  }
  return says("threshold");
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
  if (std::string meaning = meaning_of(graph, rule.name); !meaning.empty()) {
    rule.kind = Kind::kUnknown;
    rule.why = std::move(meaning);
    return;
  }
  if (named_as_unknown(lower(rule.name), rule.type) && !indexed_rows(graph, rule.name)) {
    rule.kind = Kind::kUnknown;
    rule.why = "by its name a length, an id or a threshold that only you know";
    return;
  }
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
