// SPDX-License-Identifier: Apache-2.0
// The fields of a checkpoint's config.json.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace touchstone {

/// Reads fields by name; a field that is absent or null gives the fallback. The first fault is kept and told
/// by check(), so that a family reads all its fields in one go.
class ConfigFields {
 public:
  explicit ConfigFields(const nlohmann::json& config) : config_(config) {}

  /// A whole number from `lowest` to 2^31.
  std::int64_t size(const std::string& field, std::int64_t fallback, std::int64_t lowest = 1);
  /// A list of whole numbers from 1 to 2^31.
  std::vector<std::int64_t> sizes(const std::string& field, std::vector<std::int64_t> fallback);
  float real(const std::string& field, float fallback);
  bool flag(const std::string& field, bool fallback);
  std::string text(const std::string& field, const std::string& fallback);
  /// Refuses any value but those that are built, as in `hidden_act`: gelu.
  void expect(const std::string& field, const std::string& fallback, const std::vector<std::string>& built);
  void expect_flag(const std::string& field, bool only);
  /// Refuses a `divisor` that does not divide `field`.
  void divides(const std::string& divisor_field, std::int64_t divisor, const std::string& field,
               std::int64_t value);

  /// Errors: invalid-model or unsupported, naming the field, what it holds and what was expected.
  Result<void> check() const;

 private:
  const nlohmann::json* find(const std::string& field) const;
  void fault(Reason reason, std::string message);

  const nlohmann::json& config_;
  std::optional<Error> fault_;
};

/// `ForMaskedLM` of ["BertForMaskedLM"]; `Model` where none is named.
/// Errors: unsupported, naming the heads of `built`.
Result<std::string> head_of(const nlohmann::json& config, const std::vector<std::string>& built);
/// The number of labels of a classifier, from id2label or num_labels.
std::int64_t label_count(const nlohmann::json& config);

}  // namespace touchstone
