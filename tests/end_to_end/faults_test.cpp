// SPDX-License-Identifier: Apache-2.0
// Whatever one worker does, its cell says what happened, the other column goes on, and nothing is left
// behind.
#include <doctest/doctest.h>
#include <signal.h>

#include "end_to_end/driver.h"

namespace touchstone {
namespace {

// A column of the synthetic engine that works beside a second one that `more` spoils.
RunData run_beside_a_fault(const std::vector<std::string>& more, const std::string& engines) {
  const std::string results = fresh_results();
  const CommandResult run = shared_installation().touchstone(tiny_run(engines, "1", results, more));
  CHECK_MESSAGE(run.exit_code == 0, run.err);
  CHECK(!run.timed_out);
  CHECK(processes_with(shared_installation().bin()).empty());
  return results_of(results);
}

const std::string kFaulty = "synthetic";

// The faulty column beside the reference engine as a healthy one.
void gives(const std::string& fault, const std::string& reason, std::vector<std::string> more = {}) {
  CAPTURE(fault);
  more.insert(more.end(), {"--option", "synthetic.fault=" + fault});
  const RunData data = run_beside_a_fault(more, "reference," + kFaulty);
  const CellRecord& cell = cell_of(data, kFaulty);
  CHECK(cell.state == "na");
  CHECK_MESSAGE(cell.reason == reason, cell.message);
  CHECK(!cell.message.empty());
  CHECK(!cell.median_ns.has_value());
  const CellRecord& healthy = cell_of(data, "reference");
  CHECK_MESSAGE(healthy.median_ns.value_or(0) > 0, healthy.message);
}

}  // namespace

TEST_CASE("a_segfault_is_crashed") {
  gives("segv", "crashed");
}

TEST_CASE("an_abort_is_crashed") {
  gives("abort", "crashed");
}

TEST_CASE("an_exit_is_crashed") {
  gives("exit", "crashed");
}

TEST_CASE("a_crash_in_the_middle_of_timing_is_crashed") {
  gives("segv", "crashed", {"--option", "synthetic.call=30"});
}

TEST_CASE("a_crash_while_loading_or_compiling_is_crashed") {
  gives("segv", "crashed", {"--option", "synthetic.stage=load"});
  gives("abort", "crashed", {"--option", "synthetic.stage=prepare"});
}

TEST_CASE("a_hang_is_timed_out") {
  gives("hang", "timed-out", {"--timeout", "2s"});
}

TEST_CASE("garbage_on_the_channel_is_protocol") {
  gives("garbage", "protocol");
}

TEST_CASE("an_operator_that_an_engine_lacks_is_named") {
  gives("fail", "unsupported-operator");
}

TEST_CASE("a_wrong_result_is_not_timed") {
  gives("wrong", "wrong-result");
}

TEST_CASE("not_a_number_is_a_wrong_result") {
  gives("nan", "wrong-result");
}

TEST_CASE("an_allocation_beyond_the_memory_limit_is_out_of_memory") {
  gives("allocate", "out-of-memory", {"--memory-limit", "500MB", "--option", "synthetic.bytes=2000000000"});
}

TEST_CASE("a_leak_up_to_the_memory_limit_is_out_of_memory") {
  gives("leak", "out-of-memory", {"--memory-limit", "500MB", "--option", "synthetic.bytes=20000000"});
}

TEST_CASE("what_a_worker_prints_or_leaves_running_does_not_matter") {
  for (const char* fault : {"stdout", "fork", "thread"}) {
    CAPTURE(fault);
    const RunData data =
        run_beside_a_fault({"--option", std::string("synthetic.fault=") + fault}, "reference,synthetic");
    CHECK(cell_of(data, "synthetic").median_ns.value_or(0) > 0);
  }
}

TEST_CASE("a_worker_killed_from_outside_is_crashed_and_the_run_goes_on") {
  const std::string results = fresh_results();
  RunningCommand run(shared_installation().command(tiny_run("reference,synthetic", "1,2,4", results)),
                     shared_installation().setting());
  const std::string worker = shared_installation().bin() + "/touchstone-worker-synthetic";
  REQUIRE(eventually([&] { return !processes_with(worker).empty(); }));
  for (const pid_t pid : processes_with(worker)) {
    kill(pid, SIGKILL);
  }
  const CommandResult result = run.wait();
  CHECK_MESSAGE(result.exit_code == 0, result.err);
  const RunData data = results_of(results);
  bool crashed = false;
  for (const CellRecord& cell : data.cells) {
    crashed = crashed || (cell.column == "synthetic" && cell.reason == "crashed");
  }
  CHECK(crashed);
  CHECK(cell_of(data, "reference", 4).median_ns.value_or(0) > 0);
  // It is started again for the next shape.
  CHECK(cell_of(data, "synthetic", 4).median_ns.value_or(0) > 0);
}

}  // namespace touchstone
