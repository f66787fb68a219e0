// SPDX-License-Identifier: Apache-2.0
// Plans that have a name: the published studies, and what else is asked for often.
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "bench/plan.h"

namespace touchstone {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

Column column(std::string engine, std::string mode, std::string shape_mode) {
  Column column;
  column.engine = {std::move(engine), "", std::move(mode)};
  column.shape_mode = std::move(shape_mode);
  return column;
}

// The CPU half of the published comparison of five engines on bert-base-chinese.
std::vector<Plan> five_engines(bool quick) {
  Plan plan;
  plan.model = "bert-base-chinese";
  plan.columns = {column("onnxruntime", "", "dynamic"), column("openvino", "", "fixed"),
                  column("openvino", "", "dynamic"), column("pytorch", "eager", "dynamic"),
                  column("pytorch", "torchscript", "dynamic")};
  if (quick) {
    plan.dimensions = {{"batch", {1, 4}}, {"seq", {8, 32}}};
    plan.precision_target = 0.05;
    plan.budget = seconds(50);
  } else {
    plan.dimensions = {{"batch", {1, 2, 4, 8, 16, 32, 64, 128}}, {"seq", {8, 16, 32, 64}}};
    plan.budget = minutes(25);
  }
  return {plan};
}

std::vector<EngineSelector> cpu_engines() {
  return {{"onnxruntime", "", ""},
          {"openvino", "", ""},
          {"pytorch", "", "eager"},
          {"pytorch", "", "torchscript"}};
}

// Hugging Face's grid of transformers (2019), smallest models first; the whole fits into an hour.
std::vector<Plan> transformers_2019(bool quick) {
  std::vector<Plan> plans;
  for (const char* model :
       {"distilbert-base-cased", "distilgpt2", "bert-base-cased", "roberta-base", "openai-gpt", "gpt2",
        "xlnet-base-cased", "transfo-xl-wt103", "xlm-mlm-en-2048", "ctrl"}) {
    Plan plan;
    plan.model = model;
    plan.engines = cpu_engines();
    plan.precision_target = 0.05;
    if (quick) {
      plan.dimensions = {{"batch", {1}}, {"seq", {8, 64}}};
      plan.budget = seconds(40);
    } else {
      plan.dimensions = {{"batch", {1, 2, 4, 8}}, {"seq", {8, 64, 128, 256, 512, 1024}}};
      plan.budget = minutes(6);
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

// The feature extraction of the Rosetta Stone of frameworks: 1000 images.
std::vector<Plan> resnet50_features(bool quick) {
  Plan plan;
  plan.model = "resnet-50-features";
  plan.engines = cpu_engines();
  plan.items = 1000;
  plan.precision_target = quick ? 0.05 : 0.02;
  plan.budget = quick ? seconds(60) : seconds(minutes(10));
  plan.dimensions = {
      {"batch", quick ? std::vector<std::int64_t>{1, 8} : std::vector<std::int64_t>{1, 2, 4, 8, 16, 32}}};
  return {plan};
}

struct Preset {
  std::string_view name;
  std::vector<Plan> (*plans)(bool quick);
};

constexpr Preset kPresets[] = {{"five-engines", five_engines},
                               {"transformers-2019", transformers_2019},
                               {"resnet50-features", resnet50_features}};

}  // namespace

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) {
    names.emplace_back(preset.name);
  }
  return names;
}

Result<std::vector<Plan>> preset_plans(std::string_view name, std::string_view profile) {
  const auto found = std::find_if(std::begin(kPresets), std::end(kPresets),
                                  [&](const Preset& preset) { return preset.name == name; });
  if (found == std::end(kPresets)) {
    return fail(Reason::kUsage, "there is no preset '{}'{}; known: {}", name,
                did_you_mean(std::string(name), preset_names()), fmt::join(preset_names(), ", "));
  }
  if (!profile.empty() && profile != "quick" && profile != "full") {
    return fail(Reason::kUsage, "there is no profile '{}'; known: quick, full", profile);
  }
  return found->plans(profile == "quick");
}

}  // namespace touchstone
