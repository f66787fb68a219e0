// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "results/views/views.h"

namespace touchstone {

/// The newest run of a results file. Errors: storage.
Result<RunData> load_latest_run(const std::string& path);
/// One run of it. Errors: storage; usage where it holds no run of that number (lists those it has).
Result<RunData> load_run(const std::string& path, std::int64_t id);

/// The newest run of every model in it that was timed, in the order in which they were begun. Errors:
/// storage.
Result<std::vector<RunData>> load_latest_runs(const std::string& path);

}  // namespace touchstone
