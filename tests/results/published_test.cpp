// SPDX-License-Identifier: Apache-2.0
#include "results/published.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "results/comparison.h"

using namespace touchstone;

namespace {

CellRecord cell(std::string engine, std::string mode, std::string shape_mode, std::int64_t batch, double ms) {
  CellRecord made;
  made.engine = engine;
  made.mode = mode;
  made.column = engine + (mode == "default" ? "" : ":" + mode) + (shape_mode == "fixed" ? " fixed" : "");
  made.shape_mode = std::move(shape_mode);
  made.device = "cpu";
  made.precision = "f32";
  made.batch = batch;
  made.sequence = 8;
  made.dimensions = {{"batch", batch}, {"seq", 8}};
  made.state = "done";
  made.median_ns = ms * 1e6;
  made.low_ns = ms * 0.99e6;
  made.high_ns = ms * 1.01e6;
  return made;
}

std::string temporary(const std::string& text) {
  std::string path = "/tmp/touchstone-published-" + std::to_string(getpid()) + ".csv";
  std::ofstream(path) << text;
  return path;
}

}  // namespace

TEST_CASE("the_published_comparison_of_five_engines_reads_whole") {
  const auto data =
      read_published(TOUCHSTONE_TEST_DATA "/../../data/published/bert-chinese-five-engines.csv");
  REQUIRE(data);
  CHECK(data->cells.size() == 328);
  CHECK(data->run.model == "bert-base-chinese");
  CHECK(data->environment.at("cpu.model") == "Xeon Platinum 8255C, 10 cores");
  CHECK(data->cells.front().column == "pytorch:eager");
  CHECK(*data->cells.front().median_ns == doctest::Approx(24.5e6));
}

TEST_CASE("a_table_that_is_wrong_names_the_line") {
  const auto missing = read_published(temporary("engine,batch\nx,1\n"));
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message.find("sequence_length") != std::string::npos);
  const auto word = read_published(temporary("engine,batch,sequence_length,latency_ms\nx,one,8,3\n"));
  REQUIRE_FALSE(word);
  CHECK(word.error().message.find(":2:") != std::string::npos);
}

TEST_CASE("orderings_hold_are_reversed_or_are_the_same") {
  RunData here;
  here.cells = {cell("onnxruntime", "default", "dynamic", 1, 10), cell("pytorch", "eager", "dynamic", 1, 20),
                cell("openvino", "default", "fixed", 1, 10.05)};
  RunData there;
  there.cells = {cell("onnxruntime", "default", "", 1, 5), cell("pytorch", "eager", "", 1, 4),
                 cell("openvino", "default", "fixed", 1, 6)};
  const Comparison comparison = compare_runs(here, there);
  CHECK(comparison.cells.size() == 3);
  CHECK(comparison.cells.front().ratio == doctest::Approx(2));
  REQUIRE(comparison.orderings.size() == 3);
  std::size_t same = 0;
  std::size_t reversed = 0;
  for (const Claim& claim : comparison.orderings) {
    same += claim.held == Claim::Held::kSame ? 1 : 0;
    reversed += claim.held == Claim::Held::kReversed ? 1 : 0;
  }
  CHECK(same == 1);      // onnxruntime and openvino lie within each other's intervals
  CHECK(reversed == 2);  // pytorch was the fastest there and is the slowest here
  CHECK(comparison.same_winner == 0);
}

TEST_CASE("nothing_in_common_is_said_plainly") {
  RunData here;
  here.cells = {cell("onnxruntime", "default", "dynamic", 1, 10)};
  RunData there;
  there.cells = {cell("tensorrt", "default", "dynamic", 1, 10)};
  CHECK(render_comparison(compare_runs(here, there), "a", "b").find("Nothing to compare") !=
        std::string::npos);
}
