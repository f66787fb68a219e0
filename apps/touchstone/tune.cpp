// SPDX-License-Identifier: Apache-2.0
// `tune`: each engine's best settings for a model.
#include "bench/tune.h"

#include <fmt/format.h>

#include <memory>

#include "execute.h"

namespace touchstone {
namespace {

void print_tried(const std::vector<TriedSetting>& tried) {
  for (const TriedSetting& setting : tried) {
    const bool raced =
        setting.outcome == "faster" || setting.outcome == "slower" || setting.outcome == "same";
    fmt::print("  {:44} {}{}\n", setting.setting, raced ? fmt::format("{:.3f}  ", setting.ratio) : "",
               setting.outcome);
  }
}

void print_tuning(const ColumnTuning& tuning) {
  fmt::print("\n{}: time ÷ that of its defaults, mean over the shapes\n", tuning.column);
  if (tuning.error) {
    fmt::print("  not tuned: {}\n", tuning.error->message);
    return;
  }
  print_tried(tuning.tried);
  if (!tuning.last.empty()) {
    fmt::print("  again, the best of them:\n");
    print_tried(tuning.last);
  }
  if (tuning.choice.setting.empty()) {
    fmt::print("  kept: its defaults\n");
  } else {
    fmt::print("  kept: {} ({:.1f} % less time)\n", tuning.choice.setting, 100 * (1 - tuning.choice.ratio));
  }
}

int tune_one(const RunOptions& options, const Plan& plan) {
  if (plan.generate || plan.tuned) {
    return report({Reason::kUsage,
                   "tune takes neither --generate nor --tuned; tune MODEL:prefill and MODEL:decode "
                   "for generation"});
  }
  LiveTable table(verbosity_of(options));
  const auto request = request_of(options, plan, false);
  if (!request) {
    return report(request.error());
  }
  const auto tuned = tune(*request, table);
  if (!tuned) {
    return report(tuned.error());
  }
  if (verbosity_of(options) == Verbosity::kTable) {
    for (const ColumnTuning& tuning : *tuned) {
      print_tuning(tuning);
    }
    fmt::print("\nThe races are in {}. `touchstone run {} --tuned` races defaults and tuned side by side.\n",
               options.results, plan.model);
  }
  return kDone;
}

int tune_plans(RunOptions options) {
  const auto plans = options.plan.plans();
  if (!plans) {
    return report(plans.error());
  }
  options.several = plans->size() > 1;
  return each_plan(options, *plans, [&](const Plan& plan) { return tune_one(options, plan); }).code;
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  auto options = std::make_shared<RunOptions>();
  options->results = "tune.db";
  CLI::App* command = app.add_subcommand("tune", "Find each engine's best settings for a model");
  options->plan.add_to(*command, true);
  add_common(*command, *options);
  command->add_option("-o,--output", options->results, "The results file of the races")
      ->capture_default_str();
  command->callback([options, &action] { action = [options] { return tune_plans(*options); }; });
}

}  // namespace touchstone
