// SPDX-License-Identifier: Apache-2.0
// The main jobs on engines that work.
#include <doctest/doctest.h>

#include <filesystem>
#include <sstream>

#include "end_to_end/driver.h"
#include "results/load.h"

namespace touchstone {
namespace {

std::string real_engines() {
  std::string engines = "synthetic";
#ifdef HAVE_onnxruntime
  engines += ",onnxruntime";
#endif
#ifdef HAVE_openvino
  engines += ",openvino";
#endif
#ifdef HAVE_pytorch
  engines += ",pytorch:eager,pytorch:torchscript";
#endif
  return engines;
}

}  // namespace

TEST_CASE("every_engine_is_proven_and_timed_on_bert_tiny") {
  const std::string results = fresh_results();
  const CommandResult run =
      shared_installation().touchstone(tiny_run(real_engines(), "1,2", results, {"--budget", "120s"}));
  CHECK_MESSAGE(run.exit_code == 0, run.err);
  const RunData data = results_of(results);
  CHECK(data.cells.size() >= 2);
  for (const CellRecord& cell : data.cells) {
    CAPTURE(cell.column);
    CAPTURE(cell.message);
    CHECK((cell.state == "done" || cell.state == "budget"));
    CHECK(cell.verdict == "equal");
    CHECK(cell.median_ns.value_or(0) > 0);
    CHECK(cell.max_error.value_or(1) < 1e-4);
    CHECK(cell.peak_bytes.value_or(0) > 0);
    CHECK(cell.load_ns.has_value());
    CHECK(cell.first_ns.has_value());
  }
  CHECK(!data.environment.empty());
}

TEST_CASE("a_run_ends_with_the_answer_and_the_names_of_its_files") {
  const std::string results = fresh_results();
  const CommandResult run = shared_installation().touchstone(tiny_run("synthetic", "1", results));
  CHECK_MESSAGE(holds(run.out, "synthetic takes "), run.out);
  CHECK(holds(run.out, "the double-precision reference"));
  const std::string stem = results.substr(0, results.size() - 3);
  for (const std::string& name : {results, stem + ".csv", stem + ".md"}) {
    CHECK_MESSAGE(holds(run.out, name), run.out);
    CHECK(std::filesystem::exists(shared_installation().work() + "/" + name));
  }
}

TEST_CASE("json_lines_are_one_object_a_cell_and_one_at_the_end") {
  const CommandResult run =
      shared_installation().touchstone(tiny_run("synthetic", "1,2", fresh_results(), {"--json-lines"}));
  CHECK(run.exit_code == 0);
  std::size_t cells = 0;
  std::istringstream lines(run.out);
  for (std::string line; std::getline(lines, line);) {
    CHECK_MESSAGE((line.front() == '{' && line.back() == '}'), line);
    cells += holds(line, "\"median_ns\"") ? 1 : 0;
  }
  CHECK(cells == 2);
  CHECK(holds(run.out, "\"answer\""));
}

TEST_CASE("quiet_prints_nothing") {
  const CommandResult run =
      shared_installation().touchstone(tiny_run("synthetic", "1", fresh_results(), {"--quiet"}));
  CHECK(run.exit_code == 0);
  CHECK(run.out.empty());
}

TEST_CASE("a_plan_file_runs_like_the_flags") {
  write_text(shared_installation().work() + "/plan.toml", R"(model = "bert-tiny"
engines = ["synthetic"]
batch = [1]
seq = 8
budget = "10s"
precision-target = "20%"
[options.synthetic]
latency_us = "500"
)");
  const std::string results = fresh_results();
  const CommandResult run = shared_installation().touchstone({"run", "--plan", "plan.toml", "-o", results});
  CHECK_MESSAGE(run.exit_code == 0, run.err);
  CHECK(cell_of(results_of(results), "synthetic").median_ns.value_or(0) > 4e5);
}

TEST_CASE("the_same_engine_in_two_shape_modes_makes_two_columns") {
  const std::string results = fresh_results();
  const CommandResult run = shared_installation().touchstone(
      tiny_run("synthetic", "1", results, {"--shape-mode", "fixed,dynamic"}));
  CHECK(run.exit_code == 0);
  const RunData data = results_of(results);
  CHECK(cell_of(data, "synthetic fixed").state == "done");
  CHECK(cell_of(data, "synthetic dynamic").state == "done");
}

// The step comes at the 40th call, after warm-up has settled and within the first rounds.
TEST_CASE("a_just_in_time_compiler_that_steps_in_late_leaves_the_settled_time") {
  const std::string results = fresh_results();
  const CommandResult run = shared_installation().touchstone(
      tiny_run("synthetic", "1", results,
               {"--option", "synthetic.law=step", "--option", "synthetic.latency_us=2000", "--option",
                "synthetic.wait=sleep", "--precision-target", "2%", "--budget", "30s"}));
  CHECK_MESSAGE(run.exit_code == 0, run.err);
  const CellRecord cell = cell_of(results_of(results), "synthetic");
  CHECK(cell.high_ns.value_or(0) < 1.5 * cell.minimum_ns.value_or(0));
}

TEST_CASE("a_length_beyond_the_models_positions_is_not_available_and_no_failure") {
  const std::string results = fresh_results();
  const CommandResult run = shared_installation().touchstone(
      {"run", "bert-tiny", "--engines", "synthetic", "--batch", "1", "--seq", "600", "-o", results});
  CHECK(run.exit_code == 0);
  CHECK(cell_of(results_of(results), "synthetic").reason == "sequence-too-long");
  CHECK_MESSAGE(holds(run.out, "512 positions"), run.out);
}

TEST_CASE("a_device_that_is_not_there_is_not_available_and_no_failure") {
  const std::string results = fresh_results();
  const CommandResult run =
      shared_installation().touchstone(tiny_run("synthetic", "1", results, {"--device", "cpu,cuda:0"}));
  CHECK(run.exit_code == 0);
  const RunData data = results_of(results);
  CHECK(cell_of(data, "synthetic cpu").state == "done");
  CHECK(cell_of(data, "synthetic cuda:0").reason == "device-missing");
}

TEST_CASE("verify_says_equal_and_leaves_no_file") {
  const CommandResult run = shared_installation().touchstone(
      {"verify", "bert-tiny", "--engines", "synthetic", "--batch", "2", "--seq", "8"});
  CHECK_MESSAGE(run.exit_code == 0, run.err);
  CHECK_MESSAGE(holds(run.out, "equal"), run.out);
  CHECK(!std::filesystem::exists(shared_installation().work() + "/verify.db"));
}

TEST_CASE("verify_proves_every_shape_whatever_the_plans_time_budget") {
  write_text(
      shared_installation().work() + "/short.toml",
      "model = \"bert-tiny\"\nengines = [\"synthetic\"]\nbatch = [1, 2, 4]\nseq = 8\nbudget = \"1ms\"\n");
  const CommandResult run = shared_installation().touchstone({"verify", "--plan", "short.toml"});
  CHECK(run.exit_code == 0);
  CHECK_MESSAGE(!holds(run.out, "budget"), run.out);
}

TEST_CASE("verify_ends_with_3_where_outputs_differ_and_shows_by_how_much") {
  const CommandResult run =
      shared_installation().touchstone({"verify", "bert-tiny", "--engines", "synthetic", "--batch", "2",
                                        "--seq", "8", "--option", "synthetic.fault=wrong"});
  CHECK(run.exit_code == 3);
  CHECK_MESSAGE(holds(run.out, "wrong-result"), run.out);
  CHECK_MESSAGE(holds(run.out, "output 'last_hidden_state'"), run.out);
}

TEST_CASE("verify_ends_with_1_where_nothing_could_be_compared") {
  const CommandResult run = shared_installation().touchstone(
      {"verify", "bert-tiny", "--engines", "synthetic", "--batch", "2", "--seq", "8", "--option",
       "synthetic.fault=segv", "--option", "synthetic.stage=load"});
  CHECK(run.exit_code == 1);
  CHECK_MESSAGE(holds(run.err, "nothing was proven"), run.err);
}

TEST_CASE("a_run_compares_with_itself_as_all_the_same") {
  const std::string results = fresh_results();
  REQUIRE(shared_installation().touchstone(tiny_run("synthetic", "1,2", results)).exit_code == 0);
  const CommandResult compared = shared_installation().touchstone({"compare", results, results});
  CHECK(compared.exit_code == 0);
  CHECK_MESSAGE(holds(compared.out, "2 cells in both"), compared.out);
}

namespace {

// A plan file of bert-tiny, a model that does not exist, and a checkpoint.
std::string plan_of_several() {
  write_text(
      shared_installation().work() + "/several.toml",
      "model = [\"bert-tiny\", \"nonesuch\", \"" + std::string(TOUCHSTONE_TEST_DATA) +
          "/checkpoints/gpt2\"]\n" +
          "engines = [\"synthetic\"]\nbatch = 1\nseq = 8\nbudget = \"20s\"\nprecision-target = \"20%\"\n");
  return "several.toml";
}

}  // namespace

TEST_CASE("several_models_of_one_plan_run_one_after_the_other_whatever_becomes_of_one") {
  const std::string results = fresh_results();
  const std::string stem = shared_installation().work() + "/" + results.substr(0, results.size() - 3);
  const CommandResult run =
      shared_installation().touchstone({"run", "--plan", plan_of_several(), "-o", results});
  CHECK(run.exit_code == 2);
  CHECK_MESSAGE(holds(run.err, "nonesuch"), run.err);
  CHECK_MESSAGE(holds(run.out, "gpt2 (3 of 3)"), run.out);
  CHECK_MESSAGE(holds(run.out, "| mean over all cells | 2 |"), run.out);
  for (const char* view : {"-bert-tiny.csv", "-gpt2.csv", "-averages.md"}) {
    CHECK_MESSAGE(std::filesystem::exists(stem + view), view);
  }
  const CommandResult averages =
      shared_installation().touchstone({"export", results, "--format", "averages"});
  CHECK(averages.exit_code == 0);
  CHECK_MESSAGE(holds(averages.out, "| bert-tiny | 1 |"), averages.out);
}

TEST_CASE("a_resumed_plan_of_several_begins_those_that_were_not_begun") {
  const std::string results = fresh_results();
  const std::string plan = plan_of_several();
  REQUIRE(shared_installation().touchstone({"run", "bert-tiny", "--plan", plan, "-o", results}).exit_code ==
          0);
  const auto before = cell_of(results_of(results), "synthetic").median_ns;
  const CommandResult run =
      shared_installation().touchstone({"run", "--plan", plan, "-o", results, "--resume"});
  CHECK_MESSAGE(holds(run.out, "gpt2 (3 of 3)"), run.out);
  const auto runs = load_latest_runs(shared_installation().work() + "/" + results);
  REQUIRE(runs);
  REQUIRE(runs->size() == 2);
  CHECK(cell_of(runs->front(), "synthetic").median_ns == before);
}

TEST_CASE("verify_takes_several_models_as_well") {
  const CommandResult run = shared_installation().touchstone({"verify", "--plan", plan_of_several()});
  CHECK(run.exit_code == 2);
  CHECK_MESSAGE(holds(run.out, "gpt2"), run.out);
}

}  // namespace touchstone
