// SPDX-License-Identifier: Apache-2.0
#include "graph/inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "graph/half.h"
#include "graph/philox.h"

namespace touchstone {
namespace {

constexpr std::array<std::pair<InputRule::Kind, std::string_view>, 8> kKinds = {{
    {InputRule::Kind::kIntegers, "integers"},
    {InputRule::Kind::kOnes, "ones"},
    {InputRule::Kind::kMask, "mask"},
    {InputRule::Kind::kZeros, "zeros"},
    {InputRule::Kind::kNormal, "normal"},
    {InputRule::Kind::kUniform, "uniform"},
    {InputRule::Kind::kPositions, "positions"},
    {InputRule::Kind::kUnknown, "unknown"},
}};

// The values of one tensor as doubles, by position; everything is drawn here, then written in the tensor's
// own type.
struct Generator {
  const InputRule& rule;
  std::uint64_t key;
  std::size_t row_size;
  std::size_t last_dimension;
  bool padded;

  double uniform(std::size_t row, std::size_t column) const {
    const PhiloxBlock block = philox(key, column, row);
    const std::uint64_t bits53 = ((std::uint64_t{block[0]} << 32) | block[1]) >> 11;
    return static_cast<double>(bits53) * 0x1.0p-53;
  }

  // The sum of four uniforms, scaled to unit variance: bounded, and the same bytes everywhere (no libm).
  double normal(std::size_t row, std::size_t column) const {
    const PhiloxBlock block = philox(key, column, row);
    double sum = 0;
    for (const std::uint32_t word : block) {
      sum += static_cast<double>(word) * 0x1.0p-32;
    }
    return (sum - 2.0) * 1.7320508075688772;
  }

  // Rows 0, 2, 4, … end in padding: between a quarter and a half of the row, at least one element where there
  // are two.
  double mask(std::size_t row, std::size_t column) const {
    if (!padded || row % 2 == 1 || last_dimension < 2) {
      return 1;
    }
    const std::size_t kept = last_dimension - std::max<std::size_t>(1, last_dimension / (2 + (row / 2) % 3));
    return column % last_dimension < kept ? 1 : 0;
  }

  double value(std::size_t index) const {
    const std::size_t row = index / row_size;
    const std::size_t column = index % row_size;
    switch (rule.kind) {
      case InputRule::Kind::kIntegers:
        return rule.low + std::floor(uniform(row, column) * (rule.high - rule.low));
      case InputRule::Kind::kOnes:
        return 1;
      case InputRule::Kind::kMask:
        return mask(row, column);
      case InputRule::Kind::kZeros:
        return 0;
      case InputRule::Kind::kNormal:
        return rule.low + rule.high * normal(row, column);
      case InputRule::Kind::kUniform:
        return rule.low + uniform(row, column) * (rule.high - rule.low);
      case InputRule::Kind::kPositions:
        return static_cast<double>(column % last_dimension);
      case InputRule::Kind::kUnknown:
        return 0;
    }
    return 0;
  }
};

template <class T, class Convert>
void write_all(const Generator& generator, const TensorView& out, Convert convert) {
  const std::size_t count = element_count(out.shape);
  for (std::size_t i = 0; i < count; ++i) {
    const T value = convert(generator.value(i));
    std::memcpy(out.bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
}

template <class T>
void write_numbers(const Generator& generator, const TensorView& out) {
  write_all<T>(generator, out, [](double value) { return static_cast<T>(value); });
}

// Narrow types get random bytes: every bit pattern of a 4- or 8-bit number is a value, but for a few NaN
// codes.
void write_narrow(const Generator& generator, const TensorView& out) {
  for (std::size_t i = 0; i < out.bytes.size(); ++i) {
    out.bytes[i] = static_cast<std::byte>(philox(generator.key, i, 0)[0] & 0x37U);
  }
}

}  // namespace

nlohmann::json to_json(const InputRule& rule) {
  nlohmann::json shape = nlohmann::json::array();
  for (const Dimension& dimension : rule.shape) {
    shape.push_back(dimension.value ? nlohmann::json(*dimension.value) : nlohmann::json(dimension.symbol));
  }
  const auto kind =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& row) { return row.first == rule.kind; });
  return {{"name", rule.name}, {"type", to_string(rule.type)},
          {"shape", shape},    {"kind", kind->second},
          {"low", rule.low},   {"high", rule.high},
          {"why", rule.why}};
}

Result<InputRule> input_rule_from_json(const nlohmann::json& json) {
  InputRule rule;
  try {
    rule.name = json.at("name").get<std::string>();
    rule.type = data_type_from_string(json.at("type").get<std::string>()).value_or(DataType::kUndefined);
    for (const auto& dimension : json.at("shape")) {
      rule.shape.push_back(dimension.is_number() ? Dimension{dimension.get<std::int64_t>(), ""}
                                                 : Dimension{std::nullopt, dimension.get<std::string>()});
    }
    const auto word = json.at("kind").get<std::string>();
    const auto kind =
        std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& row) { return row.second == word; });
    if (kind == kKinds.end()) {
      return fail(Reason::kInvalidModel, "input rule of '{}': unknown kind '{}'", rule.name, word);
    }
    rule.kind = kind->first;
    rule.low = json.at("low").get<double>();
    rule.high = json.at("high").get<double>();
    rule.why = json.value("why", "");
  } catch (const nlohmann::json::exception& error) {
    return fail(Reason::kInvalidModel, "input rule: {}", error.what());
  }
  return rule;
}

Result<std::vector<std::int64_t>> concrete_shape(const std::vector<Dimension>& shape,
                                                 const std::map<std::string, std::int64_t>& dimensions) {
  std::vector<std::int64_t> concrete;
  for (const Dimension& dimension : shape) {
    if (dimension.value) {
      concrete.push_back(*dimension.value);
      continue;
    }
    const auto found = dimensions.find(dimension.symbol);
    if (found == dimensions.end()) {
      return fail(Reason::kInvalidInput, "dimension '{}' has no value; give one with --dims {}=…",
                  dimension.symbol, dimension.symbol);
    }
    concrete.push_back(found->second);
  }
  return concrete;
}

Result<void> fill_input(const InputRule& rule, std::uint64_t seed, bool padded, const TensorView& out) {
  if (rule.kind == InputRule::Kind::kUnknown) {
    return fail(Reason::kInvalidInput, "input '{}' is {}: it cannot be made up", rule.name, rule.why);
  }
  const std::size_t rows = out.shape.empty() ? 1 : static_cast<std::size_t>(out.shape.front());
  const std::size_t count = element_count(out.shape);
  const std::size_t row_size = rows == 0 || count == 0 ? 1 : count / rows;
  const std::size_t last =
      out.shape.empty() ? 1 : std::max<std::size_t>(1, static_cast<std::size_t>(out.shape.back()));
  const Generator generator{rule, philox_key(seed, rule.name), row_size, last, padded};
  switch (out.type) {
    case DataType::kFloat:
      write_numbers<float>(generator, out);
      return {};
    case DataType::kDouble:
      write_numbers<double>(generator, out);
      return {};
    case DataType::kUint8:
      write_numbers<std::uint8_t>(generator, out);
      return {};
    case DataType::kInt8:
      write_numbers<std::int8_t>(generator, out);
      return {};
    case DataType::kUint16:
      write_numbers<std::uint16_t>(generator, out);
      return {};
    case DataType::kInt16:
      write_numbers<std::int16_t>(generator, out);
      return {};
    case DataType::kInt32:
      write_numbers<std::int32_t>(generator, out);
      return {};
    case DataType::kInt64:
      write_numbers<std::int64_t>(generator, out);
      return {};
    case DataType::kUint32:
      write_numbers<std::uint32_t>(generator, out);
      return {};
    case DataType::kUint64:
      write_numbers<std::uint64_t>(generator, out);
      return {};
    case DataType::kBool:
      write_all<std::uint8_t>(generator, out, [](double value) { return std::uint8_t{value != 0}; });
      return {};
    case DataType::kFloat16:
      write_all<std::uint16_t>(generator, out,
                               [](double value) { return float16_bits(static_cast<float>(value)); });
      return {};
    case DataType::kBfloat16:
      write_all<std::uint16_t>(generator, out,
                               [](double value) { return bfloat16_bits(static_cast<float>(value)); });
      return {};
    case DataType::kComplex64:
    case DataType::kComplex128: {
      const bool wide = out.type == DataType::kComplex128;
      const TensorView flat{
          wide ? DataType::kDouble : DataType::kFloat, {static_cast<std::int64_t>(count), 2}, out.bytes};
      return fill_input(rule, seed, padded, flat);
    }
    case DataType::kString:
    case DataType::kUndefined:
      return fail(Reason::kUnsupported, "input '{}' is of type {}, which cannot be made up", rule.name,
                  to_string(out.type));
    default:
      write_narrow(generator, out);
      return {};
  }
}

}  // namespace touchstone
