// SPDX-License-Identifier: Apache-2.0
// show, export and compare on files that are not what they should be.
#include <doctest/doctest.h>

#include "results/store.h"
#include "support/places.h"

namespace touchstone {
namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A results file with one run of one cell.
void write_results(const std::string& path) {
  auto store = Store::open_for_writing(path);
  REQUIRE(store.has_value());
  RunRecord run;
  run.created = "2026-12-01T00:00:00Z";
  run.kind = "run";
  run.model = "bert-tiny";
  run.plan = "{}";
  run.baseline = "onnxruntime";
  run.status = "done";
  REQUIRE(store->put_run(run).has_value());
  CellRecord cell;
  cell.run = run.id;
  cell.column = cell.engine = "onnxruntime";
  cell.mode = "default";
  cell.device = "cpu";
  cell.precision = "f32";
  cell.shape_mode = "dynamic";
  cell.dimensions = {{"batch", 1}, {"seq", 8}};
  cell.batch = 1;
  cell.sequence = 8;
  cell.state = "done";
  cell.median_ns = 2.5e6;
  cell.low_ns = 2.45e6;
  cell.high_ns = 2.55e6;
  REQUIRE(store->put_cell(cell).has_value());
}

}  // namespace

TEST_CASE("every_format_is_exported_from_one_file") {
  const PrivateInstallation place;
  write_results(place.work() + "/r.db");
  CHECK(holds(place.touchstone({"export", "r.db", "--format", "csv"}).out, "latency_ms"));
  CHECK(place.touchstone({"export", "r.db", "--format", "json"}).out.starts_with("{"));
  CHECK(holds(place.touchstone({"export", "r.db", "--format", "markdown"}).out, "2.50 ms"));
  CHECK(holds(place.touchstone({"export", "r.db", "--format", "article"}).out, "## Sequence length 8"));
  const CommandResult file = place.touchstone({"export", "r.db", "-o", "r.csv"});
  CHECK(file.exit_code == 0);
  CHECK(holds(read_text(place.work() + "/r.csv"), "latency_ms"));
}

TEST_CASE("show_ends_with_the_answer") {
  const PrivateInstallation place;
  write_results(place.work() + "/r.db");
  const CommandResult result = place.touchstone({"show", "r.db"});
  CHECK(result.exit_code == 0);
  CHECK_MESSAGE(holds(result.out, "2.50 ms"), result.out);
}

TEST_CASE("a_run_that_is_not_there_lists_those_that_are") {
  const PrivateInstallation place;
  write_results(place.work() + "/r.db");
  const CommandResult result = place.touchstone({"show", "r.db", "--run", "7"});
  CHECK(result.exit_code == 2);
  CHECK_MESSAGE(holds(result.err, "it has: 1 (bert-tiny"), result.err);
}

TEST_CASE("files_that_are_missing_or_of_another_kind_are_told") {
  const PrivateInstallation place;
  write_results(place.work() + "/r.db");
  write_text(place.work() + "/text.txt", "hello\n");
  const CommandResult missing = place.touchstone({"show", "none.db"});
  CHECK(missing.exit_code == 1);
  CHECK_MESSAGE(holds(missing.err, "none.db"), missing.err);
  const CommandResult text = place.touchstone({"export", "text.txt"});
  CHECK(text.exit_code == 1);
  CHECK_MESSAGE(holds(text.err, "text.txt"), text.err);
  const CommandResult compared = place.touchstone({"compare", "r.db", "text.txt"});
  CHECK(compared.exit_code == 2);
  CHECK_MESSAGE(holds(compared.err, "text.txt:1"), compared.err);
}

TEST_CASE("a_run_compares_with_a_published_table") {
  const PrivateInstallation place;
  write_results(place.work() + "/r.db");
  const CommandResult result = place.touchstone(
      {"compare", "r.db", source_folder() + "/data/published/bert-chinese-five-engines.csv"});
  CHECK(result.exit_code == 0);
  CHECK_MESSAGE(holds(result.out, "1 cells in both"), result.out);
}

}  // namespace touchstone
