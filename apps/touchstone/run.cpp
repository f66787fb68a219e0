// SPDX-License-Identifier: Apache-2.0
#include "bench/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "execute.h"
#include "results/load.h"

namespace touchstone {
namespace {

Result<void> write_view(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::trunc);
  file << text;
  if (!file.flush()) {
    return fail(Reason::kStorage,
                "{}: cannot be written; the results themselves are safe, `touchstone "
                "export` makes this view of them elsewhere",
                path);
  }
  return {};
}

std::string stem_of(const std::string& results) {
  return results.ends_with(".db") ? results.substr(0, results.size() - 3) : results;
}

// The files beside the results: the article's tables and a CSV.
Result<std::vector<std::string>> write_views(const RunOptions& options, const RunData& data) {
  const std::string& results = options.results;
  std::string stem = stem_of(results);
  if (options.several) {
    stem += "-" + std::filesystem::path(data.run.model).stem().string();
    std::replace(stem.begin(), stem.end(), ':', '-');
  }
  TOUCHSTONE_TRY(write_view(stem + ".csv", render_csv(data)));
  TOUCHSTONE_TRY(write_view(stem + ".md", render_article(data)));
  return std::vector<std::string>{results, stem + ".csv", stem + ".md"};
}

// Where the time went; what belongs to no phase (starting, storing, drawing) is the rest.
std::string phases_text(const RunRecord& run) {
  std::vector<std::string> parts;
  std::int64_t rest = run.elapsed_ns;
  for (const char* phase : {"reading", "proof", "compiling", "warm-up", "samples"}) {
    const auto found = run.phases_ns.find(phase);
    const std::int64_t time = found == run.phases_ns.end() ? 0 : found->second;
    rest -= time;
    parts.push_back(fmt::format("{} {:.1f} s", phase, static_cast<double>(time) / 1e9));
  }
  parts.push_back(fmt::format("rest {:.1f} s", static_cast<double>(std::max<std::int64_t>(rest, 0)) / 1e9));
  return fmt::format("Time by phase: {}.\n", fmt::join(parts, ", "));
}

void print_end(const RunOptions& options, const RunSummary& summary, const RunData& data,
               const std::vector<std::string>& files) {
  if (options.quiet) {
    return;
  }
  const std::string answer = render_answer(data);
  if (options.json_lines) {
    const nlohmann::json end = {{"run", summary.run_id},
                                {"status", data.run.status},
                                {"elapsed_ns", summary.elapsed.count()},
                                {"answer", answer},
                                {"files", files}};
    fmt::print("{}\n", end.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return;
  }
  fmt::print("\n{}", answer);
  const bool wide = std::any_of(data.cells.begin(), data.cells.end(),
                                [](const auto& cell) { return cell.state == "budget"; });
  if (wide) {
    fmt::print(
        "* wider than the target of ±{:.0f} %: the time budget or the 60 rounds that a cell gets ended "
        "first.\n",
        100 * data.run.precision_target);
  }
  fmt::print("{}", phases_text(data.run));
  fmt::print("{:.0f} s; written: {}\n", std::chrono::duration<double>(summary.elapsed).count(),
             fmt::join(files, ", "));
}

int conclude(const RunOptions& options, const RunSummary& summary) {
  const auto data = load_run(options.results, summary.run_id);
  if (!data) {
    return report(data.error());
  }
  const auto files = write_views(options, *data);
  if (!files) {
    return report(files.error());
  }
  print_end(options, summary, *data, *files);
  if (summary.interrupted) {
    std::fprintf(
        stderr,
        "touchstone: interrupted; what is done is kept in %s, the same command with --resume goes on\n",
        options.results.c_str());
    return kInterruptedExit;
  }
  return kDone;
}

int run_one(const RunOptions& options, const Plan& plan) {
  LiveTable table(verbosity_of(options));
  const auto summary = execute(options, plan, false, table);
  if (!summary) {
    return report(summary.error());
  }
  table.finish(summary->view);
  return conclude(options, *summary);
}

// A page over all models of the file.
int write_page(const RunOptions& options, const char* name,
               std::string (*render)(const std::vector<RunData>&)) {
  const auto runs = load_latest_runs(options.results);
  if (!runs) {
    return report(runs.error());
  }
  const std::string page = render(*runs);
  const std::string path = fmt::format("{}-{}.md", stem_of(options.results), name);
  if (const auto written = write_view(path, page); !written) {
    return report(written.error());
  }
  if (!options.quiet && !options.json_lines) {
    fmt::print("\n{}\nwritten: {}\n", page, path);
  }
  return kDone;
}

int run(RunOptions options) {
  const auto plans = options.plan.plans();
  if (!plans) {
    return report(plans.error());
  }
  // A plan file or the flags make all of the plans generate, or none.
  const bool generate = plans->front().generate;
  options.several = plans->size() > 1 || generate;
  const PlansOutcome outcome = each_plan(options, *plans, [&](const Plan& plan) {
    return generate ? each_graph(options, plan, run_one) : run_one(options, plan);
  });
  if (!options.several || outcome.stopped) {
    return outcome.code;
  }
  return std::max(outcome.code, generate ? write_page(options, "generation", render_generation)
                                         : write_page(options, "averages", render_averages));
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<RunOptions>();
  options->results = "results.db";
  CLI::App* command = app.add_subcommand("run", "Prove and time a model on engines");
  options->plan.add_to(*command, true);
  add_common(*command, *options);
  command->add_option("-o,--output", options->results, "The results file (SQLite)")->capture_default_str();
  command->add_flag("--resume", options->resume, "Go on with an interrupted run of the same plan");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace touchstone
