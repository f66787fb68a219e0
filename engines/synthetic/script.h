// SPDX-License-Identifier: Apache-2.0
// What the synthetic engine does, read from its options (README.md lists them).
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "worker/engine.h"

namespace touchstone {

/// A stream of latencies by a named law, reproducible from its seed.
class LatencyScript {
 public:
  /// Errors: usage, for an unknown law or a number that does not parse.
  static Result<LatencyScript> from(const Options& options);

  /// The next inference's time in nanoseconds.
  double next();
  bool spins() const { return spin_; }

 private:
  std::string law_ = "constant";
  double base_ns_ = 1e6;  // the median, or the level that ramps end at
  double spread_ = 0.02;  // relative: standard deviation, second mode's share, drift over 1000 calls, …
  bool spin_ = true;
  std::int64_t calls_ = 0;
  std::mt19937_64 generator_{1};
};

/// A fault and when it strikes.
struct FaultScript {
  std::string kind;             // empty: none
  std::string stage = "infer";  // load, prepare or infer
  std::int64_t call = 1;        // the k-th call of the stage
  std::uint64_t bytes = 0;      // of `leak` and `allocate`

  static Result<FaultScript> from(const Options& options);
};

}  // namespace touchstone
