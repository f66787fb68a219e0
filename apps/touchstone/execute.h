// SPDX-License-Identifier: Apache-2.0
// What `run` and `verify` share: their flags, and running the plan that these make.
#pragma once

#include <string>

#include "commands.h"
#include "live_table.h"
#include "plan_options.h"

namespace touchstone {

struct RunOptions {
  PlanOptions plan;
  std::string results;
  std::string home;
  bool resume = false, quiet = false, json_lines = false;
};

/// Adds the flags that both take.
void add_common(CLI::App& command, RunOptions& options);

Verbosity verbosity_of(const RunOptions& options);

/// Makes the plan and runs it. Names of engines and modes are checked before the model is read.
/// Errors: as of PlanOptions::plan, resolve_engine and run_plan.
Result<RunSummary> execute(const RunOptions& options, bool verify_only, LiveTable& table);

}  // namespace touchstone
