// SPDX-License-Identifier: Apache-2.0
#include "measure/sampling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace touchstone {
namespace {

constexpr double kOneSided5Percent = 1.6449;
constexpr double kLevelsAgree = 0.05;
constexpr std::size_t kMostLateRounds = 3;
// Of the target: at the whole of it a difference of 1.5 targets is called in 85 % of cells with 3 % noise,
// at nine tenths in more than 90 % (benchmarks/statistics).
constexpr double kRatioShare = 0.9;
constexpr double kForeignLimit = 0.15;  // DESIGN: the spread of a ratio fell from 30 % to 1.3 % with this
constexpr double kSlowLimit = 1.25;
constexpr double kShortestTurnNs = 20e6;  // so that switching does not dominate small models
constexpr double kLongSampleNs = 100e6;
constexpr double kInnerBelowNs = 10e3;
constexpr double kSampleNs = 20e3;        // what an aggregated sample should last
constexpr double kMemoryBytesPerNs = 10;  // 10 GB/s, a cautious single-socket figure
// What one worker has to refill at most. A machine with 480 MiB of last-level cache shares them among dozens
// of cores; there a first inference took 1 to 5 ms longer than those that followed, from 1×8 to 64×64
// (docs/measuring.md), and not the 48 ms that 480 MiB would take.
constexpr double kMostRefilledBytes = 32 << 20;
constexpr double kRefillShare = 0.005;
constexpr std::int64_t kMostSamplesPerTurn = 1000;

std::size_t rounds_of(const Series& series) {
  return static_cast<std::size_t>(std::count_if(
      series.begin(), series.end(), [](const Turn& t) { return !t.dropped && !t.samples_ns.empty(); }));
}

// 6, 7, 8, 10, 12, 15, 18, 22, …: each look about a fifth later than the last.
bool is_look(std::size_t rounds) {
  std::size_t look = kFewestRounds;
  while (look < rounds) {
    look += std::max<std::size_t>(1, look / 5);
  }
  return look == rounds;
}

}  // namespace

bool PrecisionRule::met(const Series& series) const {
  const auto now = estimate(series);
  return now && now->interval && now->half_width <= target_;
}

bool PrecisionRule::done(const Series& series) const {
  const std::size_t rounds = rounds_of(series);
  return rounds >= most_rounds_ || (rounds >= kFewestRounds && is_look(rounds) && met(series));
}

bool PrecisionRule::ratio_done(const Series& series, const Series& baseline) const {
  const auto ratio = paired_ratio(series, baseline);
  if (!ratio || !ratio->interval || rounds_of(series) >= most_rounds_) {
    return rounds_of(series) >= most_rounds_;
  }
  const double half = (ratio->interval->high - ratio->interval->low) / 2 / ratio->ratio;
  return is_look(ratio->rounds) && half <= kRatioShare * target_;
}

double mann_kendall(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  if (values.size() < 3) {
    return 0;
  }
  double s = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      s += (values[j] > values[i]) - (values[j] < values[i]);
    }
  }
  const double deviation = std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
  return s == 0 ? 0 : (s > 0 ? s - 1 : s + 1) / deviation;
}

void WarmupDetector::add(std::span<const std::int64_t> times_ns) {
  for (const std::int64_t time : times_ns) {
    times_.push_back(static_cast<double>(time));
    total_ns_ += time;
  }
}

bool WarmupDetector::trendless() const {
  if (times_.size() < kWindow) {
    return false;
  }
  const std::span<const double> last = std::span(times_).last(kWindow);
  const double early = median({last.begin(), last.begin() + kWindow / 2});
  const double late = median({last.begin() + kWindow / 2, last.end()});
  return mann_kendall(last) > -kOneSided5Percent && std::abs(early - late) <= kLevelsAgree * late;
}

bool WarmupDetector::settled() const {
  return !reason().empty();
}

std::string WarmupDetector::reason() const {
  if (trendless()) {
    return "settled";
  }
  if (total_ns_ >= most_ns_) {
    return "time";
  }
  return times_.size() >= most_count_ ? "count" : "";
}

TurnPlan plan_turn(double latency_ns, std::uint64_t cache_bytes) {
  TurnPlan plan;
  const double latency = std::max(latency_ns, 1.0);
  if (latency < kInnerBelowNs) {
    plan.inner = static_cast<std::int64_t>(std::ceil(kSampleNs / latency));
  }
  const double sample = latency * static_cast<double>(plan.inner);
  const double refill_ns = std::min(static_cast<double>(cache_bytes), kMostRefilledBytes) / kMemoryBytesPerNs;
  if (refill_ns > kRefillShare * latency) {
    plan.warm_count =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(refill_ns / latency)), 1, 1000);
  }
  plan.min_ns = static_cast<std::int64_t>(kShortestTurnNs);
  plan.min_count = plan.warm_count == 0 ? 1 : sample > kLongSampleNs ? 2 : 3;
  plan.max_count = std::max<std::int64_t>(plan.min_count, kMostSamplesPerTurn);
  return plan;
}

std::size_t late_warm_rounds(const Series& series) {
  std::vector<double> rounds;
  for (const Turn& turn : series) {
    if (!turn.dropped && !turn.samples_ns.empty()) {
      rounds.push_back(median({turn.samples_ns.begin(), turn.samples_ns.end()}));
    }
  }
  for (std::size_t count = kMostLateRounds; count > 0; --count) {
    if (rounds.size() < count + kFewestRounds) {
      continue;
    }
    const auto later = rounds.begin() + static_cast<std::ptrdiff_t>(count);
    const double slowest_later = *std::max_element(later, rounds.end());
    if (*std::min_element(rounds.begin(), later) > (1 + kLevelsAgree) * slowest_later) {
      return count;
    }
  }
  return 0;
}

std::string disturbance(double foreign_share) {
  if (foreign_share <= kForeignLimit) {
    return "";
  }
  return fmt::format("others took {:.0f} % of its CPUs", 100 * foreign_share);
}

std::string slow_machine(double around, double usual) {
  if (around <= kSlowLimit * usual) {
    return "";
  }
  return fmt::format("the machine took {:.2f} times as long as usual for the probe around it",
                     around / usual);
}

}  // namespace touchstone
