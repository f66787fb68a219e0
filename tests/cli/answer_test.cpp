// SPDX-License-Identifier: Apache-2.0
// The answer in words, from records.
#include <doctest/doctest.h>

#include "results/views/views.h"

namespace touchstone {
namespace {

// A run of which cells can be added; times in milliseconds with an interval of ±1 %.
struct Records {
  RunData data;

  Records() {
    data.run.kind = "run";
    data.run.model = "bert-tiny";
    data.run.baseline = "onnxruntime";
  }

  CellRecord& add(const std::string& column, std::int64_t batch, std::int64_t sequence, double ms,
                  double half_width = 0.01) {
    CellRecord cell;
    cell.id = static_cast<std::int64_t>(data.cells.size()) + 1;
    cell.column = cell.engine = column;
    cell.batch = batch;
    cell.sequence = sequence;
    cell.dimensions = {{"batch", batch}, {"seq", sequence}};
    cell.state = "done";
    cell.median_ns = ms * 1e6;
    cell.low_ns = ms * 1e6 * (1 - half_width);
    cell.high_ns = ms * 1e6 * (1 + half_width);
    data.cells.push_back(cell);
    return data.cells.back();
  }

  CellRecord& add_missing(const std::string& column, std::int64_t batch, const std::string& reason,
                          const std::string& message) {
    CellRecord& cell = add(column, batch, 8, 1);
    cell.median_ns.reset();
    cell.state = "na";
    cell.reason = reason;
    cell.message = message;
    return cell;
  }

  // Of the cell with the second id to that with the first.
  void relate(std::int64_t baseline, std::int64_t cell, double ratio, double low, double high,
              const std::string& call) {
    data.ratios.push_back({cell, baseline, ratio, low, high, call, 8});
  }
};

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a_faster_column_is_told_with_its_lead_over_the_baseline") {
  Records records;
  records.add("onnxruntime", 1, 8, 10);
  records.add("openvino", 1, 8, 7);
  records.relate(1, 2, 0.70, 0.68, 0.72, "faster");
  const std::string answer = render_answer(records.data);
  CHECK_MESSAGE(holds(answer, "openvino is fastest at 1×8, 1.43× [1.39, 1.47] over onnxruntime (7.00 ms)."),
                answer);
}

TEST_CASE("a_winning_baseline_is_told_against_the_runner_up") {
  Records records;
  records.add("onnxruntime", 1, 8, 10);
  records.add("openvino", 1, 8, 15);
  records.add("pytorch", 1, 8, 20);
  records.relate(1, 2, 1.5, 1.45, 1.55, "slower");
  const std::string answer = render_answer(records.data);
  CHECK_MESSAGE(holds(answer, "onnxruntime is fastest at 1×8, 1.50× [1.45, 1.55] over openvino"), answer);
}

TEST_CASE("nothing_is_called_fastest_before_there_is_an_interval") {
  Records records;
  records.add("onnxruntime", 1, 8, 10);
  records.add("openvino", 1, 8, 7).low_ns.reset();
  const std::string answer = render_answer(records.data);
  CHECK_MESSAGE(holds(answer, "openvino has the lowest median at 1×8 so far"), answer);
  CHECK_MESSAGE(!holds(answer, "fastest"), answer);
}

TEST_CASE("columns_whose_intervals_overlap_the_fastest_are_named") {
  Records records;
  records.add("onnxruntime", 1, 8, 10);
  records.add("openvino fixed", 1, 8, 7);
  records.add("openvino dynamic", 1, 8, 7.1);
  records.relate(1, 2, 0.70, 0.68, 0.72, "faster");
  const std::string answer = render_answer(records.data);
  CHECK_MESSAGE(holds(answer, "over onnxruntime (7.00 ms); no clear lead over openvino dynamic."), answer);
}

TEST_CASE("a_lead_within_the_interval_is_called_the_same") {
  Records records;
  records.add("onnxruntime", 1, 8, 10);
  records.add("openvino", 1, 8, 9.9);
  records.relate(1, 2, 0.99, 0.97, 1.01, "same");
  const std::string answer = render_answer(records.data);
  CHECK_MESSAGE(holds(answer, "the same as onnxruntime within the interval"), answer);
  CHECK_MESSAGE(!holds(answer, "over onnxruntime"), answer);
}

TEST_CASE("a_large_grid_is_told_by_region") {
  Records records;
  for (const std::int64_t sequence : {8, 64}) {
    for (const std::int64_t batch : {1, 2, 4, 8}) {
      const bool small = sequence == 8 || batch == 1;
      records.add("onnxruntime", batch, sequence, small ? 20 : 10);
      records.add("openvino", batch, sequence, small ? 10 : 20);
    }
  }
  const std::string answer = render_answer(records.data);
  CHECK_MESSAGE(holds(answer,
                      "openvino has the lowest median at 5 of 8 shapes: batch 1 to 8 at length 8; "
                      "batch 1 at length 64."),
                answer);
  CHECK_MESSAGE(
      holds(answer, "onnxruntime has the lowest median at 3 of 8 shapes: batch 2 to 8 at length 64."),
      answer);
  CHECK_MESSAGE(!holds(answer, "no clear winner"), answer);
}

TEST_CASE("shapes_of_a_large_grid_without_a_clear_winner_are_named") {
  Records records;
  for (const std::int64_t batch : {1, 2, 3, 4, 5, 6, 7, 8}) {
    records.add("onnxruntime", batch, 8, 10);
    records.add("openvino", batch, 8, batch == 3 ? 9.95 : 5);
  }
  const std::string answer = render_answer(records.data);
  CHECK_MESSAGE(holds(answer, "no clear winner: 3×8."), answer);
}

TEST_CASE("agreement_is_that_of_the_worst_proven_cell") {
  Records records;
  records.add("onnxruntime", 1, 8, 10).max_error = 2e-7;
  records.add("openvino", 1, 8, 7).max_error = 6e-6;
  CHECK(holds(render_answer(records.data), "to 6e-06 of their scale"));
}

TEST_CASE("a_wrong_result_is_named_and_takes_no_part_in_the_agreement") {
  Records records;
  records.add("onnxruntime", 1, 8, 10).max_error = 2e-7;
  records.add_missing("openvino", 1, "wrong-result", "far off").max_error = 0.3;
  const std::string answer = render_answer(records.data);
  CHECK_MESSAGE(holds(answer, "Wrong results, therefore not timed: openvino."), answer);
  CHECK_MESSAGE(holds(answer, "to 2e-07"), answer);
}

TEST_CASE("a_reason_that_many_cells_share_is_told_once") {
  Records records;
  for (const std::int64_t batch : {1, 2}) {
    records.add("onnxruntime", batch, 8, 10);
    records.add_missing("openvino", batch, "engine-missing", "not installed");
    records.add_missing("pytorch", batch, "crashed", batch == 1 ? "signal 9" : "signal 11");
  }
  const std::string answer = render_answer(records.data);
  CHECK_MESSAGE(holds(answer, "N/A (engine-missing): openvino: not installed\n"), answer);
  CHECK_MESSAGE(holds(answer, "N/A (crashed): pytorch at 1×8: signal 9\n"), answer);
  CHECK(answer.find("not installed") == answer.rfind("not installed"));
}

TEST_CASE("columns_that_share_a_reason_are_told_in_one_line") {
  Records records;
  for (const std::int64_t batch : {1, 2}) {
    for (const char* column : {"onnxruntime", "openvino"}) {
      if (batch == 1) {
        records.add(column, batch, 8, 10);
      } else {
        records.add_missing(column, batch, "budget", "the time was spent");
      }
    }
  }
  const std::string answer = render_answer(records.data);
  CHECK_MESSAGE(holds(answer, "N/A (budget): every column at 2×8: the time was spent\n"), answer);
}

TEST_CASE("a_column_without_a_rival_is_not_called_fastest") {
  Records records;
  records.add("onnxruntime", 1, 8, 10);
  records.add_missing("openvino", 1, "crashed", "signal 11");
  const std::string answer = render_answer(records.data);
  CHECK_MESSAGE(holds(answer, "onnxruntime takes 10.0 ms at 1×8"), answer);
  CHECK_MESSAGE(!holds(answer, "fastest"), answer);
}

TEST_CASE("a_run_without_any_time_says_so") {
  Records records;
  records.add_missing("openvino", 1, "engine-missing", "not installed");
  CHECK(holds(render_answer(records.data), "No cell has a time."));
}

}  // namespace touchstone
