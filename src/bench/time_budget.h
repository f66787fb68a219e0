// SPDX-License-Identifier: Apache-2.0
// How long a group of cells may take, so that the whole run keeps to its budget and the costly shapes at the
// end still get their turn. Pure arithmetic.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

namespace touchstone {

class TimeBudget {
 public:
  using Seconds = std::chrono::duration<double>;

  /// `sizes`: of the groups in the order in which they run, in any unit that time is about proportional to.
  TimeBudget(std::vector<double> sizes, std::optional<Seconds> budget)
      : sizes_(std::move(sizes)), budget_(budget) {}

  /// One pass (a round of all columns) over group `index` took this long. A later
  /// observation of the same size replaces the one before it.
  void observe_pass(std::size_t index, Seconds pass);
  /// What a pass over group `index` is expected to take; 0 while nothing was observed.
  Seconds expected_pass(std::size_t index) const;

  /// How long group `index` may go on when `elapsed` is spent; nothing means without limit.
  std::optional<Seconds> allowance(std::size_t index, Seconds elapsed) const;
  /// What group `index` is expected to take.
  Seconds expected_group(std::size_t index) const;
  /// What the groups from `index` on are expected to take.
  Seconds expected_rest(std::size_t index) const;

 private:
  Seconds least(std::size_t index) const;
  Seconds for_interval(std::size_t index) const;
  std::vector<double> sizes_;
  std::optional<Seconds> budget_;
  std::vector<std::pair<double, double>> observed_;  // size, seconds of a pass
};

}  // namespace touchstone
