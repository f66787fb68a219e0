// SPDX-License-Identifier: Apache-2.0
// Errors are values with a message for a person.
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "base/reason.h"

namespace touchstone {

/// What went wrong. `message` says what, where (file, node, cell), what was expected and found, and what to
/// do next.
struct Error {
  Reason reason = Reason::kInternal;
  std::string message;
};

template <class T>
using Result = tl::expected<T, Error>;

/// Builds the unexpected half of a Result: `return fail(Reason::kInvalidModel, "{}: not ONNX", path);`
template <class... Args>
tl::unexpected<Error> fail(Reason reason, fmt::format_string<Args...> format, Args&&... args) {
  return tl::unexpected(Error{reason, fmt::format(format, std::forward<Args>(args)...)});
}

}  // namespace touchstone

/// Returns the error of `expression` from the enclosing function, if it has one.
#define TOUCHSTONE_TRY(expression)                                         \
  do {                                                                     \
    if (auto touchstone_try_result = (expression); !touchstone_try_result) \
      return ::tl::unexpected(std::move(touchstone_try_result).error());   \
  } while (false)

#define TOUCHSTONE_CONCAT_(a, b) a##b
#define TOUCHSTONE_CONCAT(a, b) TOUCHSTONE_CONCAT_(a, b)

/// `TOUCHSTONE_ASSIGN(auto graph, read(path));` declares `graph` or returns the error.
#define TOUCHSTONE_ASSIGN(declaration, expression)                                              \
  auto TOUCHSTONE_CONCAT(touchstone_value_, __LINE__) = (expression);                           \
  if (!TOUCHSTONE_CONCAT(touchstone_value_, __LINE__))                                          \
    return ::tl::unexpected(std::move(TOUCHSTONE_CONCAT(touchstone_value_, __LINE__)).error()); \
  declaration = std::move(*TOUCHSTONE_CONCAT(touchstone_value_, __LINE__))
