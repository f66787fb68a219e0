// SPDX-License-Identifier: Apache-2.0
// Text generation: proven token by token before it is timed.
#include <doctest/doctest.h>

#include <filesystem>

#include "end_to_end/driver.h"
#include "results/load.h"

namespace touchstone {
namespace {

std::string checkpoint(const char* name) {
  return std::string(TOUCHSTONE_TEST_DATA) + "/checkpoints/" + name;
}

std::vector<std::string> generation(const std::string& engines, const std::string& results,
                                    const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {
      "run", checkpoint("gpt2-lm-bf16"), "--generate", "--engines", engines, "--batch", "2",    "--seq",
      "6",   "--precision-target",       "20%",        "--budget",  "20s",   "-o",      results};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace

TEST_CASE("every_engine_generates_what_the_reference_does") {
  std::string engines = "reference";
#ifdef HAVE_onnxruntime
  engines += ",onnxruntime";
#endif
#ifdef HAVE_openvino
  engines += ",openvino";
#endif
#ifdef HAVE_pytorch
  engines += ",pytorch:eager,pytorch:torchscript";
#endif
  for (const char* name : {"gpt2-lm-bf16", "llama-lm-f16"}) {
    const CommandResult result = shared_installation().touchstone(
        {"verify", checkpoint(name), "--generate", "--engines", engines, "--batch", "2", "--seq", "6"});
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.exit_code == 0);
    CHECK(holds(result.out, "reference: equal over 32 tokens after a prompt of 6"));
    CHECK(!holds(result.out, "N/A"));
  }
}

#ifdef HAVE_openvino
TEST_CASE("fixed_shapes_generate_too") {
  const CommandResult result =
      shared_installation().touchstone({"verify", checkpoint("gpt2-lm-bf16"), "--generate", "--engines",
                                        "openvino", "--shape-mode", "fixed", "--batch", "1", "--seq", "4"});
  CAPTURE(result.out);
  CHECK(result.exit_code == 0);
  CHECK(holds(result.out, "openvino fixed: equal over 32 tokens"));
}
#endif

TEST_CASE("both_graphs_are_timed_and_told_together") {
  const std::string results = fresh_results();
  const CommandResult run = shared_installation().touchstone(generation("reference", results));
  CHECK_MESSAGE(run.exit_code == 0, run.err);
  CHECK_MESSAGE(holds(run.out, "| texts | prompt, context | engine | time to first token |"), run.out);
  CHECK_MESSAGE(holds(run.out, "| 2 | 6 | reference |"), run.out);
  const std::string stem = shared_installation().work() + "/" + results.substr(0, results.size() - 3);
  for (const char* view : {"-gpt2-lm-bf16-prefill.csv", "-gpt2-lm-bf16-decode.csv", "-generation.md"}) {
    CHECK_MESSAGE(std::filesystem::exists(stem + view), view);
  }
  const CommandResult page = shared_installation().touchstone({"export", results, "--format", "generation"});
  CHECK_MESSAGE(holds(page.out, "reference: equal over 32 tokens after a prompt of 6"), page.out);
}

TEST_CASE("a_column_that_goes_wrong_at_a_late_token_is_not_timed") {
  const std::string results = fresh_results();
  const CommandResult run = shared_installation().touchstone(generation(
      "reference,synthetic", results, {"--option", "synthetic.fault=wrong", "--option", "synthetic.call=9"}));
  CHECK_MESSAGE(run.exit_code == 0, run.err);
  const auto runs = load_latest_runs(shared_installation().work() + "/" + results);
  REQUIRE(runs);
  CHECK(runs->size() == 2);
  for (const RunData& data : *runs) {
    CAPTURE(data.run.model);
    const CellRecord& cell = cell_of(data, "synthetic", 2);
    CHECK(cell.reason == "wrong-result");
    CHECK_MESSAGE(holds(cell.message, "token 9 after the prompt: output 'logits'"), cell.message);
    CHECK(!cell.median_ns.has_value());
    CHECK(cell_of(data, "reference", 2).median_ns.value_or(0) > 0);
  }
}

TEST_CASE("what_cannot_generate_is_told_at_once") {
  const CommandResult encoder = shared_installation().touchstone(
      {"run", "bert-tiny", "--generate", "--batch", "1", "--seq", "8", "-o", fresh_results()});
  CHECK(encoder.exit_code == 1);
  CHECK_MESSAGE(holds(encoder.err, "bert-tiny has no graph 'prefill'"), encoder.err);
  const CommandResult length = shared_installation().touchstone(
      {"run", checkpoint("gpt2-lm-bf16"), "--generate", "--batch", "1", "-o", fresh_results()});
  CHECK(length.exit_code == 2);
  CHECK_MESSAGE(holds(length.err, "generation needs --seq"), length.err);
}

}  // namespace touchstone
