// SPDX-License-Identifier: Apache-2.0
// `verify`: the proof without the timing.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "execute.h"
#include "results/load.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

// A place for results that nobody asked to keep; gone with the object.
struct TemporaryFolder {
  std::string path;
  TemporaryFolder() {
    std::error_code error;
    std::string pattern = (fs::temp_directory_path(error) / "touchstone-verify-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) {
      path = pattern;
    }
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code error;
    if (!path.empty()) {
      fs::remove_all(path, error);
    }
  }
};

// 3 where a column's outputs differ, 1 where nothing at all could be compared, 0 otherwise.
int judge(const RunData& data, bool quiet) {
  bool differs = false;
  bool proven = false;
  for (const CellRecord& cell : data.cells) {
    proven = proven || (cell.state == "proven" && !cell.verdict.starts_with("not "));
    if (cell.reason == "wrong-result") {
      differs = true;
      if (!quiet) {
        fmt::print("{} at {}: {}\n", cell.column, shape_text(cell), cell.message);
      }
    }
  }
  if (!differs && !proven) {
    return report({Reason::kInternal, "nothing was proven, for the reasons above"});
  }
  return differs ? kDifferent : kDone;
}

int verify_one(const RunOptions& options, const Plan& plan) {
  LiveTable table(verbosity_of(options));
  const auto summary = execute(options, plan, true, table);
  if (!summary) {
    return report(summary.error());
  }
  table.finish(summary->view);
  if (summary->interrupted) {
    return kInterruptedExit;
  }
  const auto data = load_run(options.results, summary->run_id);
  if (!data) {
    return report(data.error());
  }
  const bool quiet = options.json_lines || options.quiet;
  if (!quiet) {
    fmt::print("\n{}", render_answer(*data));
  }
  return judge(*data, quiet);
}

int verify(RunOptions options) {
  const auto plans = options.plan.plans();
  if (!plans) {
    return report(plans.error());
  }
  std::unique_ptr<TemporaryFolder> folder;
  if (options.results.empty()) {
    folder = std::make_unique<TemporaryFolder>();
    if (folder->path.empty()) {
      return report(
          {Reason::kStorage, "no temporary folder can be made; set TMPDIR, or name a file with -o"});
    }
    options.results = folder->path + "/verify.db";
  }
  options.several = plans->size() > 1;
  return each_plan(options, *plans,
                   [&](const Plan& plan) {
                     return plan.generate ? each_graph(options, plan, verify_one) : verify_one(options, plan);
                   })
      .code;
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("verify", "Are the outputs equal? No timing");
  options->plan.add_to(*command, false);
  add_common(*command, *options);
  command->add_option("-o,--output", options->results, "Keep the verdicts in a results file");
  command->callback([options, &action] { action = [options] { return verify(*options); }; });
}

}  // namespace touchstone
