// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "results/views/views.h"

namespace touchstone {

/// The newest run of a results file. Errors: storage.
Result<RunData> load_latest_run(const std::string& path);

}  // namespace touchstone
