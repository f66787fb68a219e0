// SPDX-License-Identifier: Apache-2.0
#include "bench/process.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "bench/cpu_set.h"

using namespace touchstone;

namespace {

ProcessRequest shell(const std::string& script) {
  ProcessRequest request;
  request.command = {"/bin/sh", "-c", script};
  return request;
}

char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t paren = text.rfind(')');
  return paren == std::string::npos ? '-' : text[paren + 2];
}

template <class Condition>
bool within_seconds(int seconds, Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return condition();
}

}  // namespace

TEST_CASE("a_program_that_is_not_there_is_engine_missing") {
  ProcessRequest request;
  request.command = {"/nonexistent/worker"};
  const auto process = Process::start(request);
  REQUIRE_FALSE(process);
  CHECK(process.error().reason == Reason::kEngineMissing);
  CHECK(process.error().message.find("/nonexistent/worker") != std::string::npos);
}

TEST_CASE("a_stopped_process_is_really_stopped_and_goes_on_when_resumed") {
  auto process = Process::start(shell("while :; do :; done"));
  REQUIRE(process);
  REQUIRE(process->stop());
  CHECK(state_of(process->pid()) == 'T');
  REQUIRE(process->resume());
  CHECK(within_seconds(5, [&] { return state_of(process->pid()) == 'R'; }));
}

TEST_CASE("killing_a_process_takes_its_children_along_even_when_stopped") {
  const std::string marker = "/tmp/touchstone-child-" + std::to_string(getpid());
  auto process = Process::start(shell("sleep 1000 & echo $! > " + marker + "; wait"));
  REQUIRE(process);
  pid_t child = 0;
  REQUIRE(within_seconds(5, [&] { return static_cast<bool>(std::ifstream(marker) >> child); }));
  REQUIRE(process->stop());
  process->kill();
  CHECK(within_seconds(5, [&] { return ::kill(child, 0) != 0 || state_of(child) == 'Z'; }));
  std::remove(marker.c_str());
}

TEST_CASE("the_end_of_a_process_is_told_by_signal_or_exit_code") {
  auto failing = Process::start(shell("exit 3"));
  REQUIRE(failing);
  CHECK(describe(failing->wait_or_kill(5000)) == "ended with exit code 3");
  auto crashing = Process::start(shell("kill -SEGV $$"));
  REQUIRE(crashing);
  CHECK(describe(crashing->wait_or_kill(5000)).find("signal 11") != std::string::npos);
}

// Not under the sanitizer, whose shadow memory no limit has room for.
#ifndef __SANITIZE_ADDRESS__
TEST_CASE("a_memory_limit_is_really_a_limit") {
  ProcessRequest request = shell("ulimit -d");
  const std::string log = "/tmp/touchstone-limit-" + std::to_string(getpid());
  std::remove(log.c_str());
  request.memory_limit = 64 << 20;
  request.log_file = log;
  auto process = Process::start(request);
  REQUIRE(process);
  process->wait_or_kill(5000);
  std::string kib;
  std::ifstream(log) >> kib;
  CHECK(kib == "65536");
  std::remove(log.c_str());
}
#endif

TEST_CASE("groups_die_when_the_driver_is_killed_outright") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t driver = fork();
  if (driver == 0) {
    // The guard of this test program belongs to the parent; a fresh image would have its own. Only the worker
    // itself, bound by its death signal, is judged here; grandchildren are judged end to end.
    auto process = Process::start(shell("while :; do :; done"));
    const pid_t pid = process ? process->pid() : 0;
    [[maybe_unused]] const auto written = write(ends[1], &pid, sizeof pid);
    process->stop().has_value();
    pause();
  }
  pid_t worker = 0;
  REQUIRE(read(ends[0], &worker, sizeof worker) == sizeof worker);
  REQUIRE(worker > 0);
  REQUIRE(within_seconds(5, [&] { return state_of(worker) == 'T'; }));
  ::kill(driver, SIGKILL);
  waitpid(driver, nullptr, 0);
  CHECK(within_seconds(5, [&] { return ::kill(worker, 0) != 0 || state_of(worker) == 'Z'; }));
  close(ends[0]);
  close(ends[1]);
}

TEST_CASE("cpu_lists_are_read_as_the_kernel_writes_them") {
  CHECK(parse_cpu_list("0-3,8") == std::vector<int>{0, 1, 2, 3, 8});
  CHECK(parse_cpu_list("5") == std::vector<int>{5});
  CHECK(parse_cpu_list("").empty());
}

TEST_CASE("more_threads_than_physical_cores_are_refused") {
  const auto all = choose_cpu_set(0);
  REQUIRE(all);
  REQUIRE_FALSE(all->empty());
  CHECK(choose_cpu_set(1)->size() == 1);
  const auto too_many = choose_cpu_set(static_cast<int>(all->size()) + 1);
  REQUIRE_FALSE(too_many);
  CHECK(too_many.error().reason == Reason::kUsage);
}
