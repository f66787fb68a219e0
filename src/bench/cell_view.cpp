// SPDX-License-Identifier: Apache-2.0
#include "bench/cell_view.h"

namespace touchstone {

void fill_estimate(CellRecord& cell, const Series& series, int launch) {
  const auto result = estimate(series, launch);
  if (!result) {
    return;
  }
  cell.median_ns = result->median_ns;
  cell.low_ns = result->interval ? std::optional(result->interval->low) : std::nullopt;
  cell.high_ns = result->interval ? std::optional(result->interval->high) : std::nullopt;
  cell.p90_ns = result->p90_ns;
  cell.p99_ns = result->p99_ns;
  cell.minimum_ns = result->minimum_ns;
  cell.rounds = static_cast<std::int64_t>(result->rounds);
  cell.samples = static_cast<std::int64_t>(result->samples);
  if (const auto across = across_launches(series)) {
    cell.across_low_ns = across->low;
    cell.across_high_ns = across->high;
  }
}

CellView view_of(const CellRecord& cell) {
  CellView view;
  view.median_ns = cell.median_ns.value_or(0);
  view.low_ns = cell.low_ns.value_or(0);
  view.high_ns = cell.high_ns.value_or(0);
  view.half_width = view.median_ns > 0 ? (view.high_ns - view.low_ns) / 2 / view.median_ns : 0;
  view.max_error = cell.max_error.value_or(0);
  view.rounds = static_cast<std::size_t>(cell.rounds);
  view.samples = static_cast<std::size_t>(cell.samples);
  view.disturbed = cell.disturbed;
  if (cell.state == "na") {
    view.state = CellView::State::kNotAvailable;
    view.error = Error{reason_from_string(cell.reason).value_or(Reason::kInternal), cell.message};
  } else if (cell.state == "done" || cell.state == "proven") {
    view.state = CellView::State::kDone;
  } else if (cell.state == "budget") {
    view.state = CellView::State::kBudget;
  }
  return view;
}

}  // namespace touchstone
