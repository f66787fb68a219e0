// SPDX-License-Identifier: Apache-2.0
#include "../../apps/touchstone/live_table.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace touchstone {
namespace {

RunView grid(std::size_t columns, std::size_t shapes) {
  RunView view;
  for (std::size_t column = 0; column < columns; ++column) {
    view.columns.push_back("engine" + std::to_string(column));
  }
  for (std::size_t shape = 0; shape < shapes; ++shape) {
    view.shapes.push_back({{"batch", static_cast<std::int64_t>(shape) + 1}, {"seq", 8}});
  }
  view.cells.resize(columns * shapes);
  return view;
}

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

TEST_CASE("a_row_a_shape_and_a_column_an_engine") {
  RunView view = grid(2, 3);
  view.cells[3].state = CellView::State::kDone;
  view.cells[3].median_ns = 2.5e6;
  view.cells[3].half_width = 0.013;
  const auto lines = table_lines(view, 100, 0, false);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].find("engine1") != std::string::npos);
  CHECK_MESSAGE(lines[2].find("2.50 ms ±1.3%") != std::string::npos, lines[2]);
}

TEST_CASE("before_there_are_rounds_an_inference_of_the_proof_is_something_to_show") {
  RunView view = grid(1, 1);
  view.cells[0].state = CellView::State::kMeasuring;
  view.cells[0].provisional_ns = 22e6;
  const auto lines = table_lines(view, 100, 0, false);
  CHECK_MESSAGE(lines[1].find("about 22") != std::string::npos, lines[1]);
}

TEST_CASE("no_line_is_wider_than_the_terminal") {
  for (const int width : {40, 60, 80, 200}) {
    for (const std::string& line : table_lines(grid(12, 2), width, 0, false)) {
      CHECK_MESSAGE(width_of(line) <= static_cast<std::size_t>(width), line);
    }
  }
}

TEST_CASE("columns_that_do_not_fit_are_counted") {
  const auto lines = table_lines(grid(12, 2), 80, 0, false);
  CHECK_MESSAGE(lines.back().find("columns more") != std::string::npos, lines.back());
}

TEST_CASE("a_tall_grid_shows_the_rows_in_work") {
  RunView view = grid(1, 30);
  view.cells[20].state = CellView::State::kMeasuring;
  const auto lines = table_lines(view, 80, 5, false);
  CHECK(lines.size() == 6);
  CHECK_MESSAGE(lines.back().find("21×8") != std::string::npos, lines.back());
}

TEST_CASE("only_the_fastest_of_a_row_is_coloured") {
  RunView view = grid(2, 1);
  for (CellView& cell : view.cells) {
    cell.state = CellView::State::kDone;
  }
  view.cells[0].median_ns = 2e6;
  view.cells[1].median_ns = 1e6;
  const std::string line = table_lines(view, 80, 0, true)[1];
  CHECK(line.find("\x1b[1;32m") > line.find("2.00 ms"));
  CHECK(line.find("\x1b[1;32m") < line.find("1.00 ms"));
  CHECK(table_lines(view, 80, 0, false)[1].find('\x1b') == std::string::npos);
}

TEST_CASE("a_cell_without_a_time_shows_why") {
  RunView view = grid(1, 1);
  view.cells[0].state = CellView::State::kNotAvailable;
  view.cells[0].error = Error{Reason::kTimedOut, "no answer"};
  CHECK(table_lines(view, 80, 0, false)[1].find("timed-out") != std::string::npos);
}

}  // namespace touchstone
