// SPDX-License-Identifier: Apache-2.0
#include "bench/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>

#include "commands.h"
#include "live_table.h"
#include "plan_options.h"
#include "results/load.h"

namespace touchstone {
namespace {

struct RunOptions {
  PlanOptions plan;
  std::string results = "results.db";
  std::string home;
  bool resume = false, quiet = false, json_lines = false;
};

Verbosity verbosity_of(const RunOptions& options) {
  return options.json_lines ? Verbosity::kJsonLines : options.quiet ? Verbosity::kQuiet : Verbosity::kTable;
}

Result<void> write_view(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  if (!file.flush()) {
    return fail(Reason::kStorage, "{}: cannot be written", path);
  }
  return {};
}

// The files beside the results: the article's tables and a CSV.
Result<std::vector<std::string>> write_views(const std::string& results, const RunData& data) {
  const std::string stem = results.ends_with(".db") ? results.substr(0, results.size() - 3) : results;
  TOUCHSTONE_TRY(write_view(stem + ".csv", render_csv(data)));
  TOUCHSTONE_TRY(write_view(stem + ".md", render_article(data)));
  return std::vector<std::string>{results, stem + ".csv", stem + ".md"};
}

int conclude(const RunOptions& options, const RunSummary& summary) {
  const auto data = load_latest_run(options.results);
  if (!data) {
    return report(data.error());
  }
  const auto files = write_views(options.results, *data);
  if (!files) {
    return report(files.error());
  }
  if (!options.json_lines && !options.quiet) {
    fmt::print("\n{}", render_answer(*data));
    const bool wide =
        std::any_of(summary.view.cells.begin(), summary.view.cells.end(),
                    [](const CellView& cell) { return cell.state == CellView::State::kBudget; });
    if (wide) {
      fmt::print("* wider than the target of ±{:.0f} %: the time budget ended first; --budget gives more.\n",
                 100 * data->run.precision_target);
    }
    fmt::print("{:.0f} s; written: {}\n", std::chrono::duration<double>(summary.elapsed).count(),
               fmt::join(*files, ", "));
  }
  if (summary.interrupted) {
    std::fprintf(
        stderr,
        "touchstone: interrupted; what is done is kept in %s, the same command with --resume goes on\n",
        options.results.c_str());
    return kInterruptedExit;
  }
  return kDone;
}

Result<RunSummary> execute(const RunOptions& options, bool verify_only, LiveTable& table) {
  RunRequest request;
  TOUCHSTONE_ASSIGN(request.plan, options.plan.plan());
  request.installation = find_installation();
  if (!options.home.empty()) {
    request.installation.home = options.home;
  }
  request.results = options.results;
  request.resume = options.resume;
  request.verify_only = verify_only;
  return run_plan(request, table);
}

int run(const RunOptions& options) {
  LiveTable table(verbosity_of(options));
  const auto summary = execute(options, false, table);
  if (!summary) {
    return report(summary.error());
  }
  table.finish(summary->view);
  return conclude(options, *summary);
}

int verify(const RunOptions& options) {
  LiveTable table(verbosity_of(options));
  const auto summary = execute(options, true, table);
  if (!summary) {
    return report(summary.error());
  }
  table.finish(summary->view);
  if (summary->interrupted) {
    return kInterruptedExit;
  }
  const auto data = load_latest_run(options.results);
  if (!data) {
    return report(data.error());
  }
  if (!options.json_lines && !options.quiet) {
    fmt::print("\n{}", render_answer(*data));
  }
  const bool differs = std::any_of(data->cells.begin(), data->cells.end(),
                                   [](const CellRecord& cell) { return cell.reason == "wrong-result"; });
  for (const CellRecord& cell : data->cells) {
    if (cell.reason == "wrong-result" && !options.quiet) {
      fmt::print("{}\n", cell.message);
    }
  }
  return differs ? kDifferent : kDone;
}

void add_common(CLI::App& command, RunOptions& options) {
  command.add_option("--home", options.home, "Where SDKs, bundles and references are kept");
  command.add_flag("--quiet", options.quiet, "Print errors only");
  command.add_flag("--json-lines", options.json_lines, "One JSON object a line, for scripts");
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Prove and time a model on engines");
  options->plan.add_to(*command, true);
  add_common(*command, *options);
  command->add_option("-o,--output", options->results, "The results file (SQLite)")->capture_default_str();
  command->add_flag("--resume", options->resume, "Go on with an interrupted run of the same plan");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

void add_verify(CLI::App& app, Action& action) {
  auto options = std::make_shared<RunOptions>();
  options->results = "verify.db";
  CLI::App* command = app.add_subcommand("verify", "Are the outputs equal? No timing");
  options->plan.add_to(*command, false);
  add_common(*command, *options);
  command->add_option("-o,--output", options->results, "The results file (SQLite)")->capture_default_str();
  command->callback([options, &action] { action = [options] { return verify(*options); }; });
}

}  // namespace touchstone
