// SPDX-License-Identifier: Apache-2.0
// Results files that cannot be written to.
#include <doctest/doctest.h>
#include <signal.h>

#include <filesystem>

#include "end_to_end/driver.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

CommandResult run_into(const std::string& results) {
  return shared_installation().touchstone(tiny_run("synthetic", "1", results));
}

std::string in_work(const std::string& name) {
  return shared_installation().work() + "/" + name;
}

}  // namespace

TEST_CASE("a_results_file_that_another_run_writes_to_is_refused_with_its_process") {
  const std::string results = fresh_results();
  RunningCommand first(
      shared_installation().command(tiny_run("synthetic", "1..64", results,
                                             {"--option", "synthetic.latency_us=50000", "--budget", "200s"})),
      shared_installation().setting());
  REQUIRE(first.prints("1×8"));
  const CommandResult second = run_into(results);
  CHECK(second.exit_code == 1);
  CHECK_MESSAGE(holds(second.err, "process " + std::to_string(first.pid())), second.err);
  first.signal(SIGINT);
  CHECK(first.wait().exit_code == 130);
}

TEST_CASE("a_place_that_cannot_be_written_to_is_told_before_anything_runs") {
  const CommandResult folder = run_into("no/such/folder/r.db");
  CHECK(folder.exit_code == 1);
  CHECK_MESSAGE(holds(folder.err, "no/such/folder/r.db"), folder.err);
  fs::create_directories(in_work("a-folder.db"));
  const CommandResult taken = run_into("a-folder.db");
  CHECK(taken.exit_code == 1);
  CHECK_MESSAGE(holds(taken.err, "a-folder.db"), taken.err);
}

TEST_CASE("a_file_that_is_no_results_file_is_left_alone") {
  write_text(in_work("notes.txt"),
             "my notes, much longer than the header of a database, and not to be lost\n");
  const CommandResult run = run_into("notes.txt");
  CHECK(run.exit_code == 1);
  CHECK_MESSAGE(holds(run.err, "notes.txt"), run.err);
  CHECK(holds(read_text(in_work("notes.txt")), "my notes"));
}

TEST_CASE("a_results_file_of_a_newer_version_is_refused") {
  const std::string results = fresh_results();
  REQUIRE(run_into(results).exit_code == 0);
  // user_version stands at offset 60 of an SQLite file, big-endian.
  std::string bytes = read_text(in_work(results));
  REQUIRE(bytes.size() > 64);
  bytes[62] = 1;
  write_text(in_work(results), bytes);
  for (const CommandResult& run : {run_into(results), shared_installation().touchstone({"show", results})}) {
    CHECK(run.exit_code == 1);
    CHECK_MESSAGE(holds(run.err, "newer Touchstone"), run.err);
  }
}

TEST_CASE("a_full_disk_is_told_and_what_was_written_can_still_be_read") {
  const std::string results = fresh_results();
  REQUIRE(run_into(results).exit_code == 0);
  // Files cannot grow beyond this size, as on a full disk; the signal that goes with it is ignored.
  std::string command = "trap '' XFSZ; ulimit -f 100; exec";
  for (const std::string& word : shared_installation().command(
           tiny_run("synthetic", "1..64", results,
                    {"--option", "synthetic.latency_us=100", "--precision-target", "0.01%"}))) {
    command += " '" + word + "'";
  }
  const CommandResult full = run_command({"bash", "-c", command}, shared_installation().setting());
  CHECK(full.exit_code == 1);
  CHECK_MESSAGE(holds(full.err, results), full.err);
  CHECK(processes_with(shared_installation().bin()).empty());
  CHECK(shared_installation().touchstone({"show", results, "--run", "1"}).exit_code == 0);
}

TEST_CASE("a_view_that_cannot_be_written_does_not_lose_the_results") {
  const std::string results = fresh_results();
  fs::create_symlink("/dev/full", in_work(results.substr(0, results.size() - 3) + ".csv"));
  const CommandResult run = run_into(results);
  CHECK(run.exit_code == 1);
  CHECK_MESSAGE(holds(run.err, ".csv"), run.err);
  CHECK(cell_of(results_of(results), "synthetic").median_ns.value_or(0) > 0);
}

}  // namespace touchstone
