// SPDX-License-Identifier: Apache-2.0
// What `run` and `verify` share: their flags, and running the plan that these make.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "commands.h"
#include "live_table.h"
#include "plan_options.h"

namespace touchstone {

struct RunOptions {
  PlanOptions plan;
  std::string results;
  std::string home;
  bool resume = false, quiet = false, json_lines = false;
  bool several = false;                           // plans of one preset go into the same results
  std::map<std::string, Error> refused = {};      // by column label: RunRequest's
  std::map<std::string, std::string> facts = {};  // RunRequest's
};

/// Adds the flags that both take.
void add_common(CLI::App& command, RunOptions& options);

Verbosity verbosity_of(const RunOptions& options);

/// What one of the plans that the flags make asks of the bench. Names of engines and modes are checked before
/// the model is read. Errors: as of resolve_engine.
Result<RunRequest> request_of(const RunOptions& options, const Plan& plan, bool verify_only);
/// Runs it. Errors: those, and as of run_plan.
Result<RunSummary> execute(const RunOptions& options, const Plan& plan, bool verify_only, LiveTable& table);

struct PlansOutcome {
  int code = 0;          // the highest exit code
  bool stopped = false;  // before the last plan was done
};

/// Proves generation, then acts on the plan of each of its two graphs, from which the columns that failed are
/// left out. Returns the highest exit code.
int each_graph(const RunOptions& options, const Plan& plan,
               const std::function<int(const RunOptions&, const Plan&)>& act);

/// One model after the other; what goes wrong with one does not keep the others from running, unless it is an
/// interruption or the first one's wrong usage, which is most likely the flags'.
PlansOutcome each_plan(const RunOptions& options, const std::vector<Plan>& plans,
                       const std::function<int(const Plan&)>& act);

}  // namespace touchstone
