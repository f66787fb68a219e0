// SPDX-License-Identifier: Apache-2.0
#include "bench/memory_watch.h"

#include <doctest/doctest.h>

#include <atomic>

#include "bench/process.h"

using namespace touchstone;

namespace {

Process sleeper() {
  ProcessRequest request;
  request.command = {"/bin/sleep", "60"};
  auto process = Process::start(request);
  REQUIRE(process);
  return std::move(*process);
}

}  // namespace

TEST_CASE("what_the_machine_can_still_give_is_known_and_less_than_it_has") {
  CHECK(available_memory() > 0);
  CHECK(available_memory() < usable_memory());
}

TEST_CASE("where_the_machines_memory_runs_out_only_the_last_worker_is_killed") {
  std::atomic<std::uint64_t> available = UINT64_MAX;
  MemoryWatch watch([&] { return available.load(); });
  Process first = sleeper();
  Process last = sleeper();
  watch.add(first.pid(), UINT64_MAX);
  const pid_t last_pid = last.pid();
  watch.add(last_pid, UINT64_MAX);
  available = 0;
  last.wait_or_kill(30000);
  CHECK(watch.killed(last_pid) == MemoryWatch::Cause::kMachineFull);
  available = UINT64_MAX;
  watch.forget(last_pid);
  CHECK_FALSE(watch.killed(first.pid()));
  first.kill();
}

TEST_CASE("a_worker_beyond_its_own_limit_is_killed_and_the_cause_is_told") {
  MemoryWatch watch;
  Process process = sleeper();
  const pid_t pid = process.pid();
  watch.add(pid, 1);
  process.wait_or_kill(30000);
  CHECK(watch.killed(pid) == MemoryWatch::Cause::kOwnLimit);
  watch.forget(pid);
}
