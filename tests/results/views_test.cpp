// SPDX-License-Identifier: Apache-2.0
#include "results/views/views.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace touchstone;

namespace {

RunData two_engines() {
  RunData data;
  data.run.model = "bert-tiny";
  data.run.baseline = "onnxruntime";
  data.run.plan = "{}";
  std::int64_t id = 0;
  for (const std::int64_t batch : {1, 8}) {
    for (const char* engine : {"onnxruntime", "openvino"}) {
      CellRecord cell;
      cell.id = ++id;
      cell.column = engine;
      cell.engine = engine;
      cell.batch = batch;
      cell.sequence = 16;
      cell.dimensions = {{"batch", batch}, {"seq", 16}};
      cell.state = "done";
      cell.median_ns = (engine[1] == 'n' ? 1.4e6 : 1.0e6) * static_cast<double>(batch);
      cell.low_ns = *cell.median_ns * 0.99;
      cell.high_ns = *cell.median_ns * 1.01;
      cell.max_error = 6e-6;
      data.cells.push_back(cell);
    }
    data.ratios.push_back({id, id - 1, 1 / 1.4, 1 / 1.43, 1 / 1.37, "faster", 6});
  }
  return data;
}

}  // namespace

TEST_CASE("the_answer_names_the_winner_its_lead_and_the_agreement") {
  const std::string answer = render_answer(two_engines());
  CHECK(answer.find("openvino is fastest at 1×16, 1.40× [1.37, 1.43] over onnxruntime (1.00 ms).") !=
        std::string::npos);
  CHECK(answer.find("6e-06") != std::string::npos);
}

TEST_CASE("the_same_is_called_the_same") {
  RunData data = two_engines();
  data.ratios[0].call = "same";
  CHECK(render_answer(data).find("but the same as onnxruntime") != std::string::npos);
}

TEST_CASE("wrong_and_missing_cells_are_told_with_their_reasons") {
  RunData data = two_engines();
  data.cells[1].state = "na";
  data.cells[1].reason = "wrong-result";
  data.cells[1].median_ns.reset();
  data.cells[3].state = "na";
  data.cells[3].reason = "crashed";
  data.cells[3].message = "the worker was killed by signal 11";
  const std::string answer = render_answer(data);
  CHECK(answer.find("Wrong results, therefore not timed: openvino") != std::string::npos);
  CHECK(answer.find("signal 11") != std::string::npos);
}

TEST_CASE("the_article_has_a_table_a_length_and_a_row_a_batch") {
  const std::string article = render_article(two_engines());
  CHECK(article.find("## Sequence length 16") != std::string::npos);
  CHECK(article.find("| batch | onnxruntime | openvino |") != std::string::npos);
  CHECK(article.find("| 8 | 11.2 | 8.00 |") != std::string::npos);
}

TEST_CASE("csv_has_a_row_a_cell_and_the_columns_of_the_published_tables") {
  const std::string csv = render_csv(two_engines());
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 5);
  CHECK(csv.starts_with("model,engine,version,mode,shape_mode,device"));
  CHECK(csv.find("bert-tiny,openvino,") != std::string::npos);
  CHECK(csv.find(",714.286\n") != std::string::npos);  // rows a second: 8 ÷ 11.2 ms
}

TEST_CASE("json_and_markdown_hold_every_cell") {
  CHECK(render_json(two_engines()).find("\"median_ns\": 1000000.0") != std::string::npos);
  CHECK(render_markdown(two_engines()).find("±1.0 %") != std::string::npos);
}

TEST_CASE("a_plan_with_items_has_the_time_of_all_of_them_at_the_quickest_batch") {
  RunData data = two_engines();
  data.run.plan = R"({"items": 1000})";
  data.cells[3].median_ns = 4e6;  // openvino, batch 8: half a millisecond each
  const std::string answer = render_answer(data);
  CHECK_MESSAGE(
      answer.find("1000 rows take 500 ms, 500 µs each, on openvino at batch 8.") != std::string::npos,
      answer);
}

namespace {

RunData pytorch_run(const std::string& model, double eager_ms, double script_ms) {
  RunData data;
  data.run.model = model;
  data.run.plan = "{}";
  std::int64_t id = 0;
  for (const std::int64_t batch : {1, 2}) {
    for (const auto& [column, ms] :
         {std::pair{"pytorch:eager", eager_ms}, std::pair{"pytorch:torchscript", script_ms}}) {
      CellRecord cell;
      cell.id = ++id;
      cell.column = column;
      cell.batch = batch;
      cell.sequence = 8;
      cell.dimensions = {{"batch", batch}, {"seq", 8}};
      cell.state = "done";
      cell.median_ns = ms * 1e6 * static_cast<double>(batch);
      data.cells.push_back(cell);
    }
  }
  return data;
}

}  // namespace

TEST_CASE("averages_take_only_the_cells_that_every_column_has") {
  auto parent = pytorch_run("bert-base-cased", 40, 20);
  auto distilled = pytorch_run("distilbert-base-cased", 20, 10);
  distilled.cells[3].state = "na";
  distilled.cells[3].median_ns.reset();
  const std::string page = render_averages({distilled, parent});
  CAPTURE(page);
  CHECK(page.find("| model | cells | pytorch:eager | pytorch:torchscript |") != std::string::npos);
  CHECK(page.find("| distilbert-base-cased | 1 | 20.0 | 10.0 |") != std::string::npos);
  CHECK(page.find("| bert-base-cased | 2 | 60.0 | 30.0 |") != std::string::npos);
  CHECK(page.find("| mean over all cells | 3 | 46.7 | 23.3 |") != std::string::npos);
  CHECK(page.find("TorchScript is 2.00× as fast as eager (geometric mean of 3 cells, 2.00 to 2.00).") !=
        std::string::npos);
  CHECK(
      page.find("distilbert-base-cased takes 0.50 of bert-base-cased's time (geometric mean of 3 cells).") !=
      std::string::npos);
}

TEST_CASE("a_model_without_a_common_cell_has_no_average") {
  auto run = pytorch_run("gpt2", 40, 20);
  auto other = pytorch_run("ctrl", 40, 20);
  for (CellRecord& cell : other.cells) {
    if (cell.column == "pytorch:eager") {
      cell.state = "na";
    }
  }
  const std::string page = render_averages({run, other});
  CHECK_MESSAGE(page.find("| ctrl | 0 | N/A | N/A |") != std::string::npos, page);
}
