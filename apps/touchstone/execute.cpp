// SPDX-License-Identifier: Apache-2.0
#include "execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "bench/generation.h"
#include "engines/catalogue.h"
#include "results/views/views.h"

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

Result<RunRequest> request_of(const RunOptions& options, const Plan& plan, bool verify_only) {
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
  request.refused = options.refused;
  request.facts = options.facts;
  return request;
}

Result<RunSummary> execute(const RunOptions& options, const Plan& plan, bool verify_only, LiveTable& table) {
  TOUCHSTONE_ASSIGN(const RunRequest request, request_of(options, plan, verify_only));
  return run_plan(request, table);
}

int each_graph(const RunOptions& options, const Plan& plan,
               const std::function<int(const RunOptions&, const Plan&)>& act) {
  const Installation installation = installation_at(options.home);
  const bool talks = verbosity_of(options) == Verbosity::kTable;
  if (const auto checked = check_engines(plan, installation); !checked) {
    return report(checked.error());
  }
  const auto proof = prove_generation(plan, installation, [&](const std::string& text) {
    if (talks) {
      fmt::print("{}\n", text);
      std::fflush(stdout);
    }
  });
  if (!proof) {
    return report(proof.error());
  }
  RunOptions own = options;
  for (const GenerationVerdict& column : proof->columns) {
    std::string& fact = own.facts[kGenerationFact + column.column];
    if (column.error) {
      own.refused.emplace(column.column, *column.error);
      fact = column.error->message;
    } else {
      fact = fmt::format("{} over {} tokens after a prompt of {} (largest error {:.1e})", column.verdict,
                         proof->steps, proof->prompt, column.max_error);
    }
    if (talks) {
      fmt::print("{}: {}\n", column.column, fact);
    }
  }
  int code = kDone;
  for (const char* graph : {kPrefill, kDecode}) {
    Plan part = plan;
    part.model += graph;
    part.generate = false;
    if (part.budget) {
      *part.budget /= 2;
    }
    const int outcome = act(own, part);
    code = std::max(code, outcome);
    if (outcome == kInterruptedExit) {
      break;
    }
  }
  return code;
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
