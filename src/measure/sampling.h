// SPDX-License-Identifier: Apache-2.0
// Decisions of sampling: when a cell is done, when it is warm, how long a turn is, whether a turn was
// disturbed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "measure/series.h"

namespace touchstone {

/// Rounds before an interval exists at all, and before a cell may end.
inline constexpr std::size_t kFewestRounds = 6;

/// Whether a cell needs more rounds. Looks are spaced (6, 7, 8, 10, 12, 15, … rounds): looking after every
/// round would stop at lucky moments more often.
class PrecisionRule {
 public:
  explicit PrecisionRule(double target, std::size_t most_rounds = 60)
      : target_(target), most_rounds_(most_rounds) {}
  bool done(const Series& series) const;
  /// Whether the interval is within the target, however the cell ended.
  bool met(const Series& series) const;
  /// Whether the ratio to the baseline is known well enough to call a difference of 1.5 targets nine times in
  /// ten: its half-width is within nine tenths of the target, whichever way it lies (stopping at the first
  /// interval that excludes 1 would call equal engines different).
  bool ratio_done(const Series& series, const Series& baseline) const;

 private:
  double target_;
  std::size_t most_rounds_;
};

/// Settled when the last `kWindow` times show no downward trend (Mann–Kendall, one-sided 5 %) and the two
/// halves of the window agree within 5 %; or when the cap on time or count is reached.
class WarmupDetector {
 public:
  static constexpr std::size_t kWindow = 8;
  WarmupDetector(std::int64_t most_ns, std::size_t most_count) : most_ns_(most_ns), most_count_(most_count) {}
  void add(std::span<const std::int64_t> times_ns);
  bool settled() const;
  /// Why it is over: "settled", "time", "count", or "" while it is not.
  std::string reason() const;
  std::size_t count() const { return times_.size(); }

 private:
  bool trendless() const;
  std::int64_t most_ns_;
  std::size_t most_count_;
  std::vector<double> times_;
  std::int64_t total_ns_ = 0;
};

/// Mann–Kendall's test statistic, standardised (Mann 1945): below 0 for a downward trend. 0 for fewer than 3
/// values.
double mann_kendall(std::span<const double> values);

/// How many of the first rounds still were warm-up (a just-in-time compiler that stepped in late): at most
/// three, each of them more than 5 % slower than every one of at least six rounds that follow. 0 otherwise.
std::size_t late_warm_rounds(const Series& series);

/// How a turn is run for an inference of about this long.
struct TurnPlan {
  std::int64_t warm_count = 0;  // untimed inferences that bring this worker's data back into the caches
  std::int64_t min_count = 1, max_count = 1;
  std::int64_t min_ns = 0;
  std::int64_t inner = 1;
};

/// A turn lasts some milliseconds at least, and two or three samples where an untimed inference comes first,
/// so that it pays for itself; below 10 µs a sample is the mean of several inferences; above the cost of
/// refilling `cache_bytes` (32 MiB of them at most) from memory times 200 (0.5 %) no untimed inference comes
/// first.
TurnPlan plan_turn(double latency_ns, std::uint64_t cache_bytes);

/// Why a turn is dropped, or "" where it is kept. `foreign_share` is the CPU time of others on the worker's
/// CPUs during the turn, ÷ wall time × CPUs.
std::string disturbance(double foreign_share);
/// The same for what the probe took around the turn, ÷ what it usually takes.
std::string slow_machine(double around, double usual);

}  // namespace touchstone
