// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, a killed driver, and going on afterwards.
#include <doctest/doctest.h>
#include <signal.h>

#include "end_to_end/driver.h"
#include "results/store.h"

namespace touchstone {
namespace {

constexpr const char* kBatches = "1..64";
constexpr std::size_t kShapes = 7;

std::vector<std::string> long_run(const std::string& results, const std::vector<std::string>& more = {}) {
  std::vector<std::string> all = {"--option", "synthetic.latency_us=20000", "--budget", "100s"};
  all.insert(all.end(), more.begin(), more.end());
  return tiny_run("synthetic", kBatches, results, all);
}

std::size_t timed(const RunData& data) {
  std::size_t count = 0;
  for (const CellRecord& cell : data.cells) {
    count += cell.median_ns ? 1 : 0;
  }
  return count;
}

std::size_t turns_of(const std::string& results, const CellRecord& cell) {
  const auto store = Store::open_for_reading(shared_installation().work() + "/" + results);
  REQUIRE(store.has_value());
  return store->turns(cell.id).value().size();
}

// Runs until the first shape is done, then sends `signal`.
CommandResult interrupted_run(const std::string& results, int signal) {
  RunningCommand run(shared_installation().command(long_run(results)), shared_installation().setting());
  REQUIRE_MESSAGE(run.prints("1×8"), run.out());
  run.signal(signal);
  return run.wait();
}

// Goes on with --resume: everything is done then, and what was done before was not measured again.
void finishes(const std::string& results) {
  const RunData before = results_of(results);
  const CellRecord& first = cell_of(before, "synthetic", 1);
  const std::size_t turns = turns_of(results, first);
  CHECK(turns > 0);
  CHECK(timed(before) < kShapes);
  const CommandResult resumed = shared_installation().touchstone(long_run(results, {"--resume"}));
  CHECK_MESSAGE(resumed.exit_code == 0, resumed.err);
  const RunData after = results_of(results);
  CHECK(after.run.id == before.run.id);
  CHECK(after.run.status == "done");
  CHECK(timed(after) == kShapes);
  CHECK(cell_of(after, "synthetic", 1).id == first.id);
  CHECK(cell_of(after, "synthetic", 1).median_ns == first.median_ns);
  CHECK(turns_of(results, first) == turns);
}

}  // namespace

TEST_CASE("an_interrupt_keeps_what_is_done_ends_with_130_and_can_be_resumed") {
  const std::string results = fresh_results();
  const CommandResult run = interrupted_run(results, SIGINT);
  CHECK(run.exit_code == 130);
  CHECK_MESSAGE(holds(run.err, "--resume"), run.err);
  CHECK(processes_with(shared_installation().bin()).empty());
  CHECK(results_of(results).run.status == "interrupted");
  finishes(results);
}

TEST_CASE("a_killed_driver_leaves_no_worker_running_or_stopped_and_can_be_resumed") {
  const std::string results = fresh_results();
  const CommandResult run = interrupted_run(results, SIGKILL);
  CHECK(run.signal == SIGKILL);
  CHECK(eventually([] { return processes_with(shared_installation().bin()).empty(); }));
  finishes(results);
}

TEST_CASE("resume_without_an_earlier_run_of_the_plan_is_a_usage_error") {
  const std::string results = fresh_results();
  REQUIRE(shared_installation().touchstone(tiny_run("synthetic", "1", results)).exit_code == 0);
  const CommandResult other =
      shared_installation().touchstone(tiny_run("synthetic", "2", results, {"--resume"}));
  CHECK(other.exit_code == 2);
  CHECK_MESSAGE(holds(other.err, "no run of this plan"), other.err);
}

TEST_CASE("a_second_run_into_the_same_file_is_kept_beside_the_first") {
  const std::string results = fresh_results();
  REQUIRE(shared_installation().touchstone(tiny_run("synthetic", "1", results)).exit_code == 0);
  REQUIRE(shared_installation().touchstone(tiny_run("synthetic", "2", results)).exit_code == 0);
  CHECK(results_of(results).cells.front().batch == 2);
  const CommandResult first = shared_installation().touchstone({"export", results, "--run", "1"});
  CHECK_MESSAGE(holds(first.out, ",inference,1,8,"), first.out);
}

}  // namespace touchstone
