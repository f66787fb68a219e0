// SPDX-License-Identifier: Apache-2.0
#include "bench/plan.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

using namespace touchstone;

namespace {

std::string plan_file(const std::string& text) {
  std::string path = fmt::format("/tmp/touchstone-plan-{}.toml", getpid());
  std::ofstream(path) << text;
  return path;
}

Column column(std::string engine, std::string mode, std::string shape_mode) {
  Column made;
  made.engine = {std::move(engine), "", std::move(mode)};
  made.shape_mode = std::move(shape_mode);
  return made;
}

}  // namespace

TEST_CASE("engine_selectors_name_version_and_mode") {
  CHECK(*parse_engine_selector("onnxruntime") == EngineSelector{"onnxruntime", "", ""});
  CHECK(*parse_engine_selector("pytorch:eager") == EngineSelector{"pytorch", "", "eager"});
  CHECK(*parse_engine_selector("onnxruntime==1.24.1") == EngineSelector{"onnxruntime", "1.24.1", ""});
  CHECK(*parse_engine_selector("pytorch==2.13.0:torchscript") ==
        EngineSelector{"pytorch", "2.13.0", "torchscript"});
  for (const char* wrong : {"", ":eager", "pytorch:", "pytorch==", "a=b"}) {
    const auto parsed = parse_engine_selector(wrong);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().reason == Reason::kUsage);
  }
}

TEST_CASE("axes_are_lists_or_doubling_ranges_of_positive_values") {
  CHECK(*parse_axis("batch", "1,2,4") == std::vector<std::int64_t>{1, 2, 4});
  CHECK(*parse_axis("batch", "1..8") == std::vector<std::int64_t>{1, 2, 4, 8});
  CHECK(*parse_axis("batch", "3..10,20") == std::vector<std::int64_t>{3, 6, 10, 20});
  for (const char* wrong : {"", "0", "-1", "a", "1,", "8..1", "1.5", "99999999999999999999"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_axis("batch", wrong));
  }
}

TEST_CASE("durations_sizes_and_fractions_take_the_usual_units") {
  using namespace std::chrono_literals;
  CHECK(*parse_duration("budget", "90s") == 90s);
  CHECK(*parse_duration("budget", "1h30m") == 90min);
  CHECK(*parse_duration("budget", "500ms") == 500ms);
  CHECK_FALSE(parse_duration("budget", "5"));
  CHECK_FALSE(parse_duration("budget", "-5s"));
  CHECK_FALSE(parse_duration("budget", "soon"));
  CHECK(*parse_bytes("memory-limit", "4GB") == 4000000000U);
  CHECK(*parse_bytes("memory-limit", "512MiB") == 536870912U);
  CHECK_FALSE(parse_bytes("memory-limit", "much"));
  CHECK(*parse_fraction("precision-target", "2%") == doctest::Approx(0.02));
  CHECK(*parse_fraction("precision-target", "0.03") == doctest::Approx(0.03));
  CHECK_FALSE(parse_fraction("precision-target", "0"));
  CHECK_FALSE(parse_fraction("precision-target", "200%"));
}

TEST_CASE("plan_files_take_the_axes_of_the_command_line") {
  const auto plans = read_plans(plan_file(R"(
model = "bert-tiny"
engines = ["onnxruntime", "pytorch:eager"]
batch = [1, 2]
seq = "8..32"
budget = "2m"
precision-target = "3%"
seed = 7
items = 100
[dims]
width = 64
[options.openvino]
streams = "1"
)"));
  REQUIRE(plans);
  REQUIRE(plans->size() == 1);
  const Plan& plan = plans->front();
  CHECK(plan.model == "bert-tiny");
  CHECK(plan.engines.size() == 2);
  CHECK(plan.dimensions.at("seq") == std::vector<std::int64_t>{8, 16, 32});
  CHECK(plan.dimensions.at("width") == std::vector<std::int64_t>{64});
  CHECK(plan.options.at("openvino").at("streams") == "1");
  CHECK(plan.seed == 7);
  CHECK(plan.items == 100);
}

TEST_CASE("a_plan_file_of_several_models_is_a_plan_for_each") {
  const auto plans = read_plans(plan_file("model = [\"gpt2\", \"distilgpt2\"]\nbatch = 2\n"));
  REQUIRE(plans);
  REQUIRE(plans->size() == 2);
  CHECK(plans->front().model == "gpt2");
  CHECK(plans->back().model == "distilgpt2");
  CHECK(plans->back().dimensions.at("batch") == std::vector<std::int64_t>{2});
  CHECK(read_plans(plan_file("batch = 2\n"))->front().model.empty());
}

TEST_CASE("a_wrong_plan_file_names_the_line_and_the_nearest_key") {
  const auto misspelt = read_plans(plan_file("model = \"x\"\nbatsh = [1]\n"));
  REQUIRE_FALSE(misspelt);
  CHECK(misspelt.error().message.find(":2: unknown key 'batsh', did you mean 'batch'?") != std::string::npos);
  const auto zero = read_plans(plan_file("batch = [1, 0]\n"));
  REQUIRE_FALSE(zero);
  CHECK(zero.error().message.find(":1:") != std::string::npos);
  CHECK_FALSE(read_plans(plan_file("batch = [1")));
  CHECK_FALSE(read_plans("/nonexistent/plan.toml"));
}

TEST_CASE("labels_say_no_more_than_tells_columns_apart") {
  const std::vector<Column> columns = {column("onnxruntime", "", "dynamic"), column("openvino", "", "fixed"),
                                       column("openvino", "", "dynamic"),
                                       column("pytorch", "eager", "dynamic")};
  CHECK(column_label(columns[0], columns) == "onnxruntime");
  CHECK(column_label(columns[1], columns) == "openvino fixed");
  CHECK(column_label(columns[2], columns) == "openvino dynamic");
  CHECK(column_label(columns[3], columns) == "pytorch:eager");
  std::vector<Column> versions = {column("onnxruntime", "", "dynamic"), column("onnxruntime", "", "dynamic")};
  versions[0].engine.version = "1.24.1";
  versions[1].engine.version = "1.32.0";
  CHECK(column_label(versions[0], versions) == "onnxruntime==1.24.1");
}

TEST_CASE("the_canonical_text_tells_different_measurements_apart_and_nothing_else") {
  auto plan = preset_plans("five-engines", "full")->front();
  const std::string before = canonical_plan(plan);
  plan.budget.reset();  // how long one is ready to wait does not change what is measured
  CHECK(canonical_plan(plan) == before);
  plan.seed = 99;
  CHECK(canonical_plan(plan) != before);
}

TEST_CASE("an_unknown_preset_or_profile_is_a_usage_error") {
  CHECK_FALSE(preset_plans("five-engine", "full"));
  CHECK_FALSE(preset_plans("five-engines", "slow"));
}

TEST_CASE("every_preset_has_a_quick_and_a_full_profile_of_the_same_models") {
  for (const std::string& name : preset_names()) {
    const auto quick = preset_plans(name, "quick");
    const auto full = preset_plans(name, "full");
    REQUIRE(quick);
    REQUIRE(full);
    REQUIRE(quick->size() == full->size());
    for (std::size_t i = 0; i < quick->size(); ++i) {
      CHECK((*quick)[i].model == (*full)[i].model);
      CHECK(*(*quick)[i].budget < *(*full)[i].budget);
    }
  }
}
