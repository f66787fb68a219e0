// SPDX-License-Identifier: Apache-2.0
#include "models/config.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace touchstone {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 31;

std::string shown(const nlohmann::json& value) {
  const std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 60) + "…" : text;
}

std::optional<std::int64_t> whole_number(const nlohmann::json& value, std::int64_t lowest) {
  const double number = value.is_number() ? value.get<double>() : std::nan("");
  const bool fits = number >= static_cast<double>(lowest) && number <= static_cast<double>(kLargest) &&
                    number == std::floor(number);
  return fits ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
}

}  // namespace

const nlohmann::json* ConfigFields::find(const std::string& field) const {
  const auto found = config_.find(field);
  return found == config_.end() || found->is_null() ? nullptr : &*found;
}

void ConfigFields::fault(Reason reason, std::string message) {
  if (!fault_) {
    fault_ = Error{reason, std::move(message)};
  }
}

std::int64_t ConfigFields::size(const std::string& field, std::int64_t fallback, std::int64_t lowest) {
  const nlohmann::json* value = find(field);
  if (value == nullptr) {
    return fallback;
  }
  const auto number = whole_number(*value, lowest);
  if (!number) {
    fault(Reason::kInvalidModel,
          fmt::format("config.json: '{}' is {}; expected a whole number from {} to 2^31", field,
                      shown(*value), lowest));
  }
  return number.value_or(fallback);
}

std::vector<std::int64_t> ConfigFields::sizes(const std::string& field, std::vector<std::int64_t> fallback) {
  const nlohmann::json* value = find(field);
  if (value == nullptr) {
    return fallback;
  }
  std::vector<std::int64_t> numbers;
  bool whole = value->is_array();
  for (std::size_t i = 0; whole && i < value->size(); ++i) {
    const auto number = whole_number((*value)[i], 1);
    whole = number.has_value();
    numbers.push_back(number.value_or(0));
  }
  if (!whole) {
    fault(Reason::kInvalidModel,
          fmt::format("config.json: '{}' is {}; expected a list of whole numbers from 1 to 2^31", field,
                      shown(*value)));
    return fallback;
  }
  return numbers;
}

float ConfigFields::real(const std::string& field, float fallback) {
  const nlohmann::json* value = find(field);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_number() || !std::isfinite(value->get<double>())) {
    fault(Reason::kInvalidModel,
          fmt::format("config.json: '{}' is {}; expected a number", field, shown(*value)));
    return fallback;
  }
  return value->get<float>();
}

bool ConfigFields::flag(const std::string& field, bool fallback) {
  const nlohmann::json* value = find(field);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_boolean()) {
    fault(Reason::kInvalidModel,
          fmt::format("config.json: '{}' is {}; expected true or false", field, shown(*value)));
    return fallback;
  }
  return value->get<bool>();
}

std::string ConfigFields::text(const std::string& field, const std::string& fallback) {
  const nlohmann::json* value = find(field);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_string()) {
    fault(Reason::kInvalidModel,
          fmt::format("config.json: '{}' is {}; expected a string", field, shown(*value)));
    return fallback;
  }
  return value->get<std::string>();
}

void ConfigFields::expect(const std::string& field, const std::string& fallback,
                          const std::vector<std::string>& built) {
  const std::string value = text(field, fallback);
  if (std::find(built.begin(), built.end(), value) == built.end()) {
    fault(Reason::kUnsupported,
          fmt::format("config.json: '{}' is \"{}\"; built are: {}", field, value, fmt::join(built, ", ")));
  }
}

void ConfigFields::expect_flag(const std::string& field, bool only) {
  if (flag(field, only) != only) {
    fault(Reason::kUnsupported, fmt::format("config.json: '{}' is {}; only {} is built", field, !only, only));
  }
}

void ConfigFields::divides(const std::string& divisor_field, std::int64_t divisor, const std::string& field,
                           std::int64_t value) {
  if (divisor < 1 || value % divisor != 0) {
    fault(Reason::kInvalidModel, fmt::format("config.json: '{}' ({}) is no multiple of '{}' ({})", field,
                                             value, divisor_field, divisor));
  }
}

Result<void> ConfigFields::check() const {
  if (fault_) {
    return tl::unexpected(*fault_);
  }
  return {};
}

Result<std::string> head_of(const nlohmann::json& config, const std::vector<std::string>& built) {
  const auto found = config.find("architectures");
  if (found == config.end() || !found->is_array() || found->empty() || !found->front().is_string()) {
    return std::string("Model");
  }
  const auto architecture = found->front().get<std::string>();
  for (const std::string& head : built) {
    if (architecture.ends_with(head)) {
      return head;
    }
  }
  return fail(Reason::kUnsupported,
              "config.json: the architecture {} is not built; built are those that end in: {}", architecture,
              fmt::join(built, ", "));
}

std::int64_t label_count(const nlohmann::json& config) {
  const auto labels = config.find("id2label");
  if (labels != config.end() && labels->is_object() && !labels->empty()) {
    return static_cast<std::int64_t>(labels->size());
  }
  return ConfigFields(config).size("num_labels", 2);
}

}  // namespace touchstone
