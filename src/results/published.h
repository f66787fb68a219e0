// SPDX-License-Identifier: Apache-2.0
// Published tables, read into the same records as a run: a claim is compared like a run.
#pragma once

#include <string>

#include "base/result.h"
#include "results/views/views.h"

namespace touchstone {

/// A CSV with at least engine, batch, sequence_length and latency_ms; model, mode, shape_mode, device and
/// hardware are optional. Errors: storage (not readable), usage (a missing column or a field that is no
/// number, with file and line).
Result<RunData> read_published(const std::string& path);

/// A results file or a published CSV, by what the file is. Errors: as either.
Result<RunData> load_any(const std::string& path);

}  // namespace touchstone
