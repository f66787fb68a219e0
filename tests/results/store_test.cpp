// SPDX-License-Identifier: Apache-2.0
#include "results/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

using namespace touchstone;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("touchstone-store-" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
};

RunRecord a_run() {
  RunRecord run;
  run.created = "2026-01-01T00:00:00Z";
  run.kind = "run";
  run.model = "bert-tiny";
  run.plan = "{}";
  run.plan_hash = "abc";
  run.status = "running";
  return run;
}

CellRecord a_cell(std::int64_t run) {
  CellRecord cell;
  cell.run = run;
  cell.column = "onnxruntime";
  cell.engine = "onnxruntime";
  cell.state = "waiting";
  cell.dimensions = {{"batch", 1}, {"seq", 8}};
  return cell;
}

}  // namespace

TEST_CASE("what_is_put_comes_back_samples_and_all") {
  const Folder folder;
  auto store = Store::open_for_writing(folder.file("r.db"));
  REQUIRE(store);
  RunRecord run = a_run();
  REQUIRE(store->put_run(run));
  REQUIRE(store->put_environment(run.id, {{"cpu.model", "a cpu, with a comma"}}));
  CellRecord cell = a_cell(run.id);
  REQUIRE(store->put_cell(cell));
  Turn turn;
  turn.round = 3;
  turn.samples_ns = {1, 2, 3};
  turn.warm_ns = {9};
  turn.drop_reason = "others";
  turn.dropped = true;
  REQUIRE(store->add_turn(cell.id, turn));
  cell.state = "done";
  cell.median_ns = 2;
  REQUIRE(store->put_cell(cell));  // updating a cell must not lose its turns
  const auto turns = store->turns(cell.id);
  REQUIRE(turns);
  REQUIRE(turns->size() == 1);
  CHECK(turns->front().samples_ns == std::vector<std::int64_t>{1, 2, 3});
  CHECK(turns->front().warm_ns == std::vector<std::int64_t>{9});
  CHECK(turns->front().dropped);
  const auto cells = store->cells(run.id);
  REQUIRE(cells->size() == 1);
  CHECK(cells->front().median_ns == 2);
  CHECK(cells->front().dimensions == cell.dimensions);
  CHECK_FALSE(cells->front().low_ns);
  CHECK(store->environment(run.id)->at("cpu.model") == "a cpu, with a comma");
  CHECK(store->runs()->front().plan_hash == "abc");
}

TEST_CASE("a_second_writer_is_told_who_holds_the_file_and_readers_are_not_disturbed") {
  const Folder folder;
  auto first = Store::open_for_writing(folder.file("r.db"));
  REQUIRE(first);
  RunRecord run = a_run();
  REQUIRE(first->put_run(run));
  const auto second = Store::open_for_writing(folder.file("r.db"));
  REQUIRE_FALSE(second);
  CHECK(second.error().reason == Reason::kStorage);
  CHECK(second.error().message.find(std::to_string(getpid())) != std::string::npos);
  const auto reader = Store::open_for_reading(folder.file("r.db"));
  REQUIRE(reader);
  CHECK(reader->runs()->size() == 1);
}

TEST_CASE("the_lock_of_a_killed_writer_does_not_outlive_it") {
  const Folder folder;
  const pid_t child = fork();
  if (child == 0) {
    const auto store = Store::open_for_writing(folder.file("r.db"));
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  CHECK(Store::open_for_writing(folder.file("r.db")));
}

// Each holder leaves a mark that no other may find: the lock file is removed by the last holder, and a lock
// on the removed one must not count.
TEST_CASE("of_many_writers_that_come_and_go_one_at_a_time_holds_the_file") {
  const Folder folder;
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int turn = 0; turn < 60; ++turn) {
        const auto store = Store::open_for_writing(folder.file("r.db"));
        if (!store) {
          continue;
        }
        const int mark = open(folder.file("held").c_str(), O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (mark < 0) {
          _exit(1);
        }
        close(mark);
        usleep(200);
        unlink(folder.file("held").c_str());
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
}

TEST_CASE("turns_set_aside_stay_in_the_file_with_their_reason") {
  const Folder folder;
  auto store = Store::open_for_writing(folder.file("r.db"));
  REQUIRE(store);
  RunRecord run = a_run();
  REQUIRE(store->put_run(run));
  CellRecord cell = a_cell(run.id);
  REQUIRE(store->put_cell(cell));
  CHECK(store->last_turn().value() == 0);
  Turn turn;
  turn.samples_ns = {1};
  REQUIRE(store->add_turn(cell.id, turn));
  const std::int64_t first = store->last_turn().value();
  REQUIRE(store->add_turn(cell.id, turn));
  REQUIRE(store->set_aside_turns(cell.id, 0, first, "measured again"));
  const auto turns = store->turns(cell.id);
  REQUIRE(turns->size() == 2);
  CHECK(turns->at(0).dropped);
  CHECK(turns->at(0).drop_reason == "measured again");
  CHECK_FALSE(turns->at(1).dropped);
}

TEST_CASE("files_that_are_not_results_are_refused_and_named") {
  const Folder folder;
  std::ofstream(folder.file("text.db")) << "this is not a database, and it is long enough to be looked at";
  const auto text = Store::open_for_writing(folder.file("text.db"));
  REQUIRE_FALSE(text);
  CHECK(text.error().message.find("text.db") != std::string::npos);
  {
    SQLite::Database other(folder.file("other.db"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    other.exec("CREATE TABLE address (name TEXT)");
  }
  CHECK_FALSE(Store::open_for_writing(folder.file("other.db")));
  CHECK_FALSE(Store::open_for_reading(folder.file("missing.db")));
}

TEST_CASE("a_file_from_a_newer_version_is_left_alone") {
  const Folder folder;
  {
    SQLite::Database newer(folder.file("newer.db"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    newer.exec("PRAGMA user_version = 99");
  }
  for (const auto& opened : {Store::open_for_writing(folder.file("newer.db")).map([](const Store&) {}),
                             Store::open_for_reading(folder.file("newer.db")).map([](const Store&) {})}) {
    REQUIRE_FALSE(opened);
    CHECK(opened.error().message.find("newer") != std::string::npos);
  }
}

TEST_CASE("a_place_that_cannot_be_written_is_named") {
  const auto store = Store::open_for_writing("/proc/touchstone/r.db");
  REQUIRE_FALSE(store);
  CHECK(store.error().reason == Reason::kStorage);
  CHECK(store.error().message.find("/proc/touchstone/r.db") != std::string::npos);
}

// Needs root for the small file system; skipped elsewhere.
TEST_CASE("a_full_disk_is_reported_and_what_was_stored_stays_readable") {
  const Folder folder;
  const std::string small = folder.file("small");
  fs::create_directories(small);
  if (mount("tmpfs", small.c_str(), "tmpfs", 0, "size=2m") != 0) {
    return;
  }
  {
    auto store = Store::open_for_writing(small + "/r.db");
    REQUIRE(store);
    RunRecord run = a_run();
    REQUIRE(store->put_run(run));
    CellRecord cell = a_cell(run.id);
    REQUIRE(store->put_cell(cell));
    Turn turn;
    turn.samples_ns.assign(2000, 1);
    Result<void> outcome;
    for (int i = 0; i < 1000 && outcome; ++i) {
      outcome = store->add_turn(cell.id, turn);
    }
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().reason == Reason::kStorage);
    CAPTURE(outcome.error().message);
    CHECK(outcome.error().message.find("--resume") != std::string::npos);
    CHECK(store->turns(cell.id)->size() > 1);
  }
  umount2(small.c_str(), MNT_DETACH);
}
