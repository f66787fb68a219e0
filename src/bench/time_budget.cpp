// SPDX-License-Identifier: Apache-2.0
#include "bench/time_budget.h"

#include <algorithm>
#include <cmath>

namespace touchstone {
namespace {

// A pass is a round. A group wants its proof and warm-up (about two of them), six rounds and a few more until
// the target is met.
constexpr double kUsualPasses = 10;
// With proof and the fewest rounds that make an interval.
constexpr double kIntervalPasses = 8.2;
// The least a group is kept time for: proof and one round.
constexpr double kLeastPasses = 2.2;
// Starting, compiling and proving cost this much whatever the shape.
constexpr double kFixedSeconds = 3;
// Exponents of time against size: before two sizes were seen, and the least believed.
constexpr double kFirstGrowth = 0.6;
constexpr double kLeastGrowth = 0.5;
// A noisy group does not take the time of those that come after it; what is left at the end is the last
// one's.
constexpr double kMostTimesUsual = 3;

}  // namespace

void TimeBudget::observe_pass(std::size_t index, Seconds pass) {
  if (!observed_.empty() && observed_.back().first == sizes_[index]) {
    observed_.pop_back();
  }
  observed_.emplace_back(sizes_[index], pass.count());
}

TimeBudget::Seconds TimeBudget::expected_pass(std::size_t index) const {
  if (observed_.empty()) {
    return Seconds(0);
  }
  // From the nearest observed size, by the growth seen between the smallest and the largest one. Small shapes
  // are bound by reading the weights and grow slowly, large ones by arithmetic, in proportion.
  const double size = sizes_[index];
  const auto nearest =
      std::min_element(observed_.begin(), observed_.end(), [&](const auto& a, const auto& b) {
        return std::abs(std::log(a.first / size)) < std::abs(std::log(b.first / size));
      });
  const auto [smallest, largest] = std::minmax_element(observed_.begin(), observed_.end());
  double growth = kFirstGrowth;
  if (smallest->first < largest->first && smallest->second > 0 && largest->second > 0) {
    growth =
        std::clamp(std::log(largest->second / smallest->second) / std::log(largest->first / smallest->first),
                   kLeastGrowth, 1.0);
  }
  return Seconds(nearest->second * std::pow(size / nearest->first, growth));
}

TimeBudget::Seconds TimeBudget::least(std::size_t index) const {
  return kLeastPasses * expected_pass(index) + Seconds(kFixedSeconds);
}

TimeBudget::Seconds TimeBudget::expected_group(std::size_t index) const {
  return kUsualPasses * expected_pass(index) + Seconds(kFixedSeconds);
}

TimeBudget::Seconds TimeBudget::expected_rest(std::size_t index) const {
  Seconds total(0);
  for (std::size_t i = index; i < sizes_.size(); ++i) {
    total += expected_group(i);
  }
  return total;
}

TimeBudget::Seconds TimeBudget::for_interval(std::size_t index) const {
  return kIntervalPasses * expected_pass(index) + Seconds(kFixedSeconds);
}

// A group always gets its six rounds while there is time at all: the cheap ones come first, and what the
// costly ones will take is only a guess yet. What is left after that and after proof and a round of every
// later group goes to the later ones' intervals in their order, and the rest is this group's.
std::optional<TimeBudget::Seconds> TimeBudget::allowance(std::size_t index, Seconds elapsed) const {
  if (!budget_) {
    return std::nullopt;
  }
  const Seconds left = std::max(*budget_ - elapsed, Seconds(0));
  Seconds spare = left;
  for (std::size_t i = index; i < sizes_.size(); ++i) {
    spare -= least(i);
  }
  if (spare.count() < 0) {
    return std::min(left, for_interval(index));
  }
  const Seconds own = std::min(spare, for_interval(index) - least(index));
  spare -= own;
  for (std::size_t later = index + 1; later < sizes_.size(); ++later) {
    const Seconds wanted = for_interval(later) - least(later);
    spare -= std::min(wanted, spare);
  }
  const Seconds most = least(index) + own + spare;
  const bool last = index + 1 == sizes_.size();
  const Seconds usual = kUsualPasses * expected_pass(index) + Seconds(2 * kFixedSeconds);
  return observed_.empty() || last ? most : std::min(most, kMostTimesUsual * usual);
}

}  // namespace touchstone
