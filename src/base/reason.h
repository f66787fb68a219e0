// SPDX-License-Identifier: Apache-2.0
// Why something has no result. The same words stand in the protocol, in the store and on screen.
#pragma once

#include <optional>
#include <string_view>

namespace touchstone {

enum class Reason {
  kUnsupportedOperator,  // the engine (or the lowering to it) lacks an operator; the message names it
  kUnsupported,      // the engine lacks something else that the cell asks for (a mode, a type, a precision)
  kSequenceTooLong,  // beyond the positions that the model knows
  kInvalidModel,     // the file is missing, truncated, not ONNX, or fails the checker
  kInvalidInput,     // shapes or values that the model cannot take; a dimension unknown or misspelt
  kOutOfMemory,      // memory limit or an allocation failure
  kCrashed,          // the worker died; the message says by which signal or exit code
  kTimedOut,         // no answer within the limit, time stopped not counted
  kProtocol,         // the worker wrote what is not the protocol
  kWrongResult,      // differs from the reference beyond tolerance, or NaN/Inf where it has none
  kEngineMissing,    // unknown, not installed, or installed but broken
  kDeviceMissing,    // no such device on this machine
  kBudget,           // the time budget was spent before the cell was reached
  kInterrupted,      // Ctrl-C
  kStorage,          // results file or cache cannot be read or written
  kUsage,            // the command line or plan file is wrong
  kInternal,         // a fault of Touchstone's own
};

/// `unsupported-operator`, `out-of-memory`, ... : stable words, part of the protocol and of the results
/// schema.
std::string_view to_string(Reason reason);

/// The inverse of to_string; nothing for an unknown word.
std::optional<Reason> reason_from_string(std::string_view word);

}  // namespace touchstone
