// SPDX-License-Identifier: Apache-2.0
#include "plan_options.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "usage.h"

namespace touchstone {

void PlanOptions::add_to(CLI::App& command, bool timing) {
  command.add_option(
      "MODEL", model,
      "A zoo name (`touchstone models`), or the path of an .onnx file or a checkpoint's folder");
  command.add_option("--engines", engines, "NAME[==VERSION][:MODE], separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--batch", batch, "Batch sizes: 1,2,4 or 1..8 (doubling)");
  command.add_option("--seq", seq, "Sequence lengths: 8,64 or 8..64");
  command.add_option("--dims", dims, "Values of any symbolic dimension: name=1,2")->allow_extra_args(false);
  command.add_option("--shape-mode", shape_modes, "dynamic, fixed or both (fixed,dynamic)")
      ->check(one_of({"dynamic", "fixed"}))
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_flag(
      "--generate", generate,
      "Text generation: a prompt, then token by token, each timed for itself; --seq is the length "
      "of the prompt and of the context");
  command.add_option("--inputs", inputs,
                     "Your own inputs: an .npz or .npy file, or a folder of ONNX test data");
  command.add_option("--expected", expected, "The outputs that --inputs should give: an .npz or .npy file");
  command
      .add_option("--tolerance", tolerances,
                  "[OUTPUT=]X: how far off an output may be (docs/measuring.md); default 3e-5 in f32")
      ->allow_extra_args(false);
  command.add_option("--judge", judges, "[OUTPUT=]HOW: largest-error (default), cosine or top-1")
      ->allow_extra_args(false);
  command.add_option("--device", devices, "cpu or cuda:N")->delimiter(',')->allow_extra_args(false);
  command.add_option("--precision", precisions, "f32 (bf16, f16 and int8 where an engine has them)")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--threads", threads, "Threads of every engine; default: one per physical core")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--option", options, "An engine's own option: ENGINE.KEY=VALUE")
      ->allow_extra_args(false);
  CLI::Option* known =
      command
          .add_option("--preset", preset, fmt::format("A known plan: {}", fmt::join(preset_names(), ", ")))
          ->check(one_of(preset_names()));
  command.add_option("--profile", profile, "Of a preset: quick or full")->check(one_of({"quick", "full"}));
  command.add_option("--plan", plan_file, "A plan file in TOML (docs/guide.md)")->excludes(known);
  command.add_option("--timeout", timeout, "The longest wait for one answer of an engine: 5m");
  command.add_option("--memory-limit", memory_limit, "Bytes that one engine may use: 4GB");
  command.add_option("--seed", seed, "Of inputs and of the order of turns");
  if (timing) {
    command.add_option("--precision-target", target, "Half-width of a cell's interval ÷ its median: 2%");
    command.add_option("--budget", budget, "For the whole run: 10m");
    command.add_option("--launches", launches, "Processes per engine, for the interval across launches");
    command.add_option("--items", items, "Rows, images, of which the answer says how long all take: 1000");
    command.add_flag("--tuned", tuned,
                     "Beside each engine's defaults also what `touchstone tune` found best");
    command.add_option("--baseline", baseline, "The column that the others are compared with");
  }
}

void PlanOptions::apply_axes(Plan& plan) const {
  const auto take = [](auto& axis, const auto& given) {
    if (!given.empty()) {
      axis = given;
    }
  };
  take(plan.shape_modes, shape_modes);
  take(plan.devices, devices);
  take(plan.precisions, precisions);
  take(plan.threads, threads);
  // A preset's columns are multiplied by the same axes; of its shape modes those asked for remain.
  std::vector<Column> columns;
  for (const Column& column : plan.columns) {
    if (!shape_modes.empty() &&
        std::find(shape_modes.begin(), shape_modes.end(), column.shape_mode) == shape_modes.end()) {
      continue;
    }
    for (const std::string& device : plan.devices) {
      for (const std::string& precision : plan.precisions) {
        for (const int count : plan.threads) {
          columns.push_back(column);
          columns.back().device = device;
          columns.back().precision = precision;
          columns.back().threads = count;
        }
      }
    }
  }
  plan.columns = std::move(columns);
}

Result<std::vector<Plan>> PlanOptions::base() const {
  if (preset.empty() && !profile.empty()) {
    return fail(Reason::kUsage, "--profile goes with --preset");
  }
  std::vector<Plan> plans(1);
  if (!preset.empty()) {
    TOUCHSTONE_ASSIGN(plans, preset_plans(preset, profile));
  } else if (!plan_file.empty()) {
    TOUCHSTONE_ASSIGN(plans, read_plans(plan_file));
  }
  if (!model.empty()) {
    const auto part =
        std::find_if(plans.begin(), plans.end(), [&](const Plan& plan) { return plan.model == model; });
    Plan only = part != plans.end() ? *part : plans.empty() ? Plan{} : plans.front();
    only.model = model;
    plans = {std::move(only)};
  }
  if (plans.empty() || plans.front().model.empty()) {
    return fail(Reason::kUsage,
                "which model? Give a zoo name (`touchstone models`), the path of an .onnx file or of a "
                "checkpoint's folder");
  }
  return plans;
}

Result<void> PlanOptions::apply_dimensions(Plan& plan) const {
  if (!batch.empty()) {
    TOUCHSTONE_ASSIGN(plan.dimensions["batch"], parse_axis("--batch", batch));
  }
  if (!seq.empty()) {
    TOUCHSTONE_ASSIGN(plan.dimensions["seq"], parse_axis("--seq", seq));
  }
  for (const std::string& entry : dims) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(Reason::kUsage, "--dims: '{}' should be NAME=VALUES, such as batch=1,8", entry);
    }
    const std::string name = entry.substr(0, equals);
    TOUCHSTONE_ASSIGN(plan.dimensions[name], parse_axis("--dims " + name, entry.substr(equals + 1)));
  }
  return {};
}

Result<void> PlanOptions::apply_limits(Plan& plan) const {
  if (!target.empty()) {
    TOUCHSTONE_ASSIGN(plan.precision_target, parse_fraction("--precision-target", target));
  }
  if (!budget.empty()) {
    TOUCHSTONE_ASSIGN(plan.budget, parse_duration("--budget", budget));
  }
  if (!timeout.empty()) {
    TOUCHSTONE_ASSIGN(plan.cell_timeout, parse_duration("--timeout", timeout));
  }
  if (!memory_limit.empty()) {
    TOUCHSTONE_ASSIGN(plan.memory_limit, parse_bytes("--memory-limit", memory_limit));
  }
  plan.seed = seed.value_or(plan.seed);
  plan.launches = launches.value_or(plan.launches);
  if (plan.launches < 1 || plan.launches > 100) {
    return fail(Reason::kUsage, "--launches: {} is not from 1 to 100", plan.launches);
  }
  if (items && *items < 1) {
    return fail(Reason::kUsage, "--items: {} should be 1 or more", *items);
  }
  plan.items = items ? items : plan.items;
  return {};
}

Result<void> PlanOptions::apply_inputs(Plan& plan) const {
  plan.inputs = inputs.empty() ? plan.inputs : inputs;
  plan.expected = expected.empty() ? plan.expected : expected;
  for (const std::string& text : tolerances) {
    TOUCHSTONE_TRY(add_tolerance(plan, text));
  }
  for (const std::string& text : judges) {
    TOUCHSTONE_TRY(add_judge(plan, text));
  }
  return {};
}

Result<Plan> PlanOptions::with_flags(Plan plan) const {
  if (!engines.empty()) {
    plan.engines.clear();
    plan.columns.clear();
    for (const std::string& engine : engines) {
      TOUCHSTONE_ASSIGN(EngineSelector selector, parse_engine_selector(engine));
      plan.engines.push_back(std::move(selector));
    }
  }
  TOUCHSTONE_TRY(apply_dimensions(plan));
  for (const std::string& entry : options) {
    const std::size_t dot = entry.find('.');
    const std::size_t equals = entry.find('=');
    if (dot == std::string::npos || equals == std::string::npos || equals < dot) {
      return fail(Reason::kUsage, "--option: '{}' should be ENGINE.KEY=VALUE", entry);
    }
    plan.options[entry.substr(0, dot)][entry.substr(dot + 1, equals - dot - 1)] = entry.substr(equals + 1);
  }
  apply_axes(plan);
  TOUCHSTONE_TRY(apply_limits(plan));
  TOUCHSTONE_TRY(apply_inputs(plan));
  plan.generate = plan.generate || generate;
  plan.tuned = plan.tuned || tuned;
  if (plan.generate && plan.tuned) {
    return fail(Reason::kUsage,
                "--tuned does not go with --generate; run MODEL:prefill and MODEL:decode --tuned instead");
  }
  if (plan.generate && (!plan.inputs.empty() || plan.items)) {
    return fail(Reason::kUsage,
                "--generate makes its own prompts: it goes with neither --inputs nor --items");
  }
  plan.baseline = baseline.empty() ? plan.baseline : baseline;
  if (plan.engines.empty() && plan.columns.empty()) {
    plan.engines = {{"onnxruntime", "", ""},
                    {"openvino", "", ""},
                    {"pytorch", "", "eager"},
                    {"pytorch", "", "torchscript"}};
  }
  return plan;
}

Result<std::vector<Plan>> PlanOptions::plans() const {
  TOUCHSTONE_ASSIGN(std::vector<Plan> plans, base());
  for (Plan& plan : plans) {
    TOUCHSTONE_ASSIGN(plan, with_flags(std::move(plan)));
  }
  return plans;
}

}  // namespace touchstone
