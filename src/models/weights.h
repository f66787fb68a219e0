// SPDX-License-Identifier: Apache-2.0
// Weights made from nothing: the same bytes on any machine and number of threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace touchstone {

/// How one weight tensor is initialised: mean + deviation × a standard normal number.
struct WeightSpec {
  std::string name;
  std::vector<std::int64_t> shape;
  float mean = 0;
  float deviation = 0;
  bool transposed = false;                      // a checkpoint keeps this matrix the other way round
  std::vector<std::int64_t> stored_shape = {};  // in a checkpoint, where that differs
  bool buffer = false;                          // stored, but not a parameter: running means and variances
};

/// Fills `out` (float32) for a weight of this name. Each element depends on seed, name and position only; it
/// is drawn from the 65,536 quantiles of the normal distribution, within 4.4 standard deviations.
void generate_weights(const WeightSpec& spec, std::uint64_t seed, std::span<float> out);

}  // namespace touchstone
