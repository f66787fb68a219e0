// SPDX-License-Identifier: Apache-2.0
// Settings that win twice are kept, and raced beside the defaults when asked for.
#include <doctest/doctest.h>

#include <filesystem>

#include "end_to_end/driver.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

// The synthetic engine's manifest offers half the time, twice the time, and wrong answers.
CommandResult tune_synthetic(const PrivateInstallation& installation,
                             const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"tune",     "bert-tiny", "--engines", "synthetic",
                                        "--batch",  "1",         "--seq",     "8",
                                        "--budget", "20s",       "--option",  "synthetic.law=normal"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return installation.touchstone(arguments);
}

std::vector<std::string> tuned_run(const std::string& results) {
  return tiny_run("synthetic", "1", results, {"--option", "synthetic.law=normal", "--tuned"});
}

}  // namespace

TEST_CASE("what_wins_twice_is_kept_and_raced_beside_the_defaults") {
  const CommandResult tuned = tune_synthetic(shared_installation());
  CAPTURE(tuned.out);
  CAPTURE(tuned.err);
  CHECK(tuned.exit_code == 0);
  CHECK(holds(tuned.out, "kept: latency_us=500"));
  CHECK(holds(tuned.out, "wrong-result"));
  const std::string results = fresh_results();
  const CommandResult run = shared_installation().touchstone(tuned_run(results));
  CHECK_MESSAGE(run.exit_code == 0, run.err);
  const RunData data = results_of(results);
  CHECK(data.run.baseline == "synthetic");
  CHECK(cell_of(data, "synthetic tuned").options.at("latency_us") == "500");
  CHECK(!cell_of(data, "synthetic").options.contains("latency_us"));
  CHECK(holds(data.environment.at("tuned"), "latency_us=500"));
}

TEST_CASE("without_tuning_there_are_the_defaults_and_a_note") {
  const std::string results = fresh_results();
  std::vector<std::string> arguments = tiny_run("reference", "1", results, {"--tuned"});
  const CommandResult run = shared_installation().touchstone(arguments);
  CHECK(run.exit_code == 0);
  CHECK_MESSAGE(holds(run.out, "reference: not tuned for this model on this machine"), run.out);
  CHECK(results_of(results).cells.size() == 1);
}

TEST_CASE("a_spoilt_file_of_choices_is_named") {
  const PrivateInstallation installation;
  REQUIRE(tune_synthetic(installation).exit_code == 0);
  for (const auto& entry : fs::directory_iterator(installation.home() + "/tuned")) {
    write_text(entry.path().string(), "{");
  }
  const CommandResult run = installation.touchstone(tuned_run("spoilt.db"));
  CHECK(run.exit_code == 1);
  CHECK_MESSAGE(holds(run.err, "tune again"), run.err);
}

TEST_CASE("tuning_takes_no_graphs_of_generation_at_once") {
  const CommandResult result = tune_synthetic(shared_installation(), {"--generate"});
  CHECK(result.exit_code == 2);
  CHECK_MESSAGE(holds(result.err, "MODEL:prefill"), result.err);
}

}  // namespace touchstone
