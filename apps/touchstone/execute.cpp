// SPDX-License-Identifier: Apache-2.0
#include "execute.h"

#include <fmt/format.h>

#include <algorithm>

#include "engines/catalogue.h"

namespace touchstone {
namespace {

// A misspelt engine is told at once, not after a large model has been read.
Result<void> check_engines(const Plan& plan, const Installation& installation) {
  TOUCHSTONE_ASSIGN(const auto catalogue, read_catalogue(installation.manifests));
  const EnginePlaces places{installation.home, installation.bin};
  std::vector<EngineSelector> selectors = plan.engines;
  for (const Column& column : plan.columns) {
    selectors.push_back(column.engine);
  }
  for (const EngineSelector& selector : selectors) {
    const auto engine =
        resolve_engine(catalogue, places, selector.engine, selector.version, selector.mode, "cpu", 1);
    if (!engine && engine.error().reason == Reason::kUsage) {
      return tl::unexpected(engine.error());
    }
  }
  return {};
}

}  // namespace

void add_common(CLI::App& command, RunOptions& options) {
  command.add_option("--home", options.home, "Where SDKs, bundles and references are kept");
  CLI::Option* quiet = command.add_flag("--quiet", options.quiet, "Print errors only");
  command.add_flag("--json-lines", options.json_lines, "One JSON object a line, for scripts")
      ->excludes(quiet);
}

Verbosity verbosity_of(const RunOptions& options) {
  return options.json_lines ? Verbosity::kJsonLines : options.quiet ? Verbosity::kQuiet : Verbosity::kTable;
}

Result<RunSummary> execute(const RunOptions& options, const Plan& plan, bool verify_only, LiveTable& table) {
  RunRequest request;
  request.plan = plan;
  if (verify_only) {
    request.plan.budget.reset();  // a preset's is meant for timing
  }
  request.installation = installation_at(options.home);
  TOUCHSTONE_TRY(check_engines(request.plan, request.installation));
  request.results = options.results;
  request.resume = options.resume;
  request.several = options.several;
  request.verify_only = verify_only;
  return run_plan(request, table);
}

PlansOutcome each_plan(const RunOptions& options, const std::vector<Plan>& plans,
                       const std::function<int(const Plan&)>& act) {
  PlansOutcome outcome;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (options.several && verbosity_of(options) == Verbosity::kTable) {
      fmt::print("{}{} ({} of {})\n", i == 0 ? "" : "\n", plans[i].model, i + 1, plans.size());
    }
    const int code = act(plans[i]);
    if (code == kInterruptedExit || (code == kUsageError && i == 0)) {
      return {code, true};
    }
    outcome.code = std::max(outcome.code, code);
  }
  return outcome;
}

}  // namespace touchstone
