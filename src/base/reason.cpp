// SPDX-License-Identifier: Apache-2.0
#include "base/reason.h"

#include <array>
#include <utility>

namespace touchstone {
namespace {

constexpr std::array kWords = {
    std::pair{Reason::kUnsupportedOperator, std::string_view("unsupported-operator")},
    std::pair{Reason::kUnsupported, std::string_view("unsupported")},
    std::pair{Reason::kSequenceTooLong, std::string_view("sequence-too-long")},
    std::pair{Reason::kInvalidModel, std::string_view("invalid-model")},
    std::pair{Reason::kInvalidInput, std::string_view("invalid-input")},
    std::pair{Reason::kOutOfMemory, std::string_view("out-of-memory")},
    std::pair{Reason::kCrashed, std::string_view("crashed")},
    std::pair{Reason::kTimedOut, std::string_view("timed-out")},
    std::pair{Reason::kProtocol, std::string_view("protocol")},
    std::pair{Reason::kWrongResult, std::string_view("wrong-result")},
    std::pair{Reason::kEngineMissing, std::string_view("engine-missing")},
    std::pair{Reason::kDeviceMissing, std::string_view("device-missing")},
    std::pair{Reason::kBudget, std::string_view("budget")},
    std::pair{Reason::kInterrupted, std::string_view("interrupted")},
    std::pair{Reason::kStorage, std::string_view("storage")},
    std::pair{Reason::kUsage, std::string_view("usage")},
    std::pair{Reason::kInternal, std::string_view("internal")},
};

}  // namespace

std::string_view to_string(Reason reason) {
  for (const auto& [value, word] : kWords) {
    if (value == reason) {
      return word;
    }
  }
  return "internal";
}

std::optional<Reason> reason_from_string(std::string_view word) {
  for (const auto& [value, known] : kWords) {
    if (known == word) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace touchstone
