// SPDX-License-Identifier: Apache-2.0
// touchstone-model, run as a short-lived process: reading and checking a model happens there, so that no
// model can take the driver down.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/run.h"

namespace touchstone {

/// Runs `touchstone-model ARGUMENTS…` and returns the JSON it printed.
/// Errors: what it reported; invalid-model where it crashed; timed-out after `timeout`; interrupted.
Result<nlohmann::json> call_model_helper(const Installation& installation,
                                         const std::vector<std::string>& arguments,
                                         std::chrono::nanoseconds timeout = std::chrono::minutes(10));

}  // namespace touchstone
