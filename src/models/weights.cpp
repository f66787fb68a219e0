// SPDX-License-Identifier: Apache-2.0
#include "models/weights.h"

#include <algorithm>
#include <array>
#include <memory>
#include <thread>

#include "graph/philox.h"

namespace touchstone {
namespace {

// Only additions, multiplications and divisions, which IEEE 754 rounds the same everywhere; libm's functions
// differ between machines. This file is compiled without contraction to fused multiply-adds.

double exponential(double x) {
  // e^x for x <= 0: the series at x / 64, squared six times.
  const double y = x / 64;
  double term = 1;
  double sum = 1;
  for (int n = 1; n < 20; ++n) {
    term = term * y / n;
    sum = sum + term;
  }
  for (int i = 0; i < 6; ++i) {
    sum = sum * sum;
  }
  return sum;
}

double density(double x) {
  return 0.3989422804014326779 * exponential(-x * x / 2);
}

// P(0 < Z < x): density(x) times x + x^3/3 + x^5/15 + … (all terms positive, so nothing cancels).
double half_cumulative(double x) {
  double term = x;
  double sum = x;
  for (int n = 3; n < 400 && term > sum * 1e-17; n += 2) {
    term = term * x * x / n;
    sum = sum + term;
  }
  return density(x) * sum;
}

constexpr std::size_t kHalf = 32768;
using Quantiles = std::array<float, 2 * kHalf>;

// The normal quantiles at (i + 1/2) / 65536, each found by Newton's method from its neighbour.
std::unique_ptr<Quantiles> make_quantiles() {
  auto table = std::make_unique<Quantiles>();
  double x = 0;
  for (std::size_t i = 0; i < kHalf; ++i) {
    const double target = (static_cast<double>(i) + 0.5) / (2 * kHalf);
    for (int step = 0; step < 4; ++step) {
      x = x + (target - half_cumulative(x)) / density(x);
    }
    (*table)[kHalf + i] = static_cast<float>(x);
    (*table)[kHalf - 1 - i] = -static_cast<float>(x);
  }
  return table;
}

const Quantiles& quantiles() {
  static const std::unique_ptr<Quantiles> kTable = make_quantiles();
  return *kTable;
}

constexpr std::size_t kPerBlock = 8;  // 16 bits each of a Philox block's 128

void generate_range(const WeightSpec& spec, std::uint64_t key, std::span<float> out, std::size_t begin,
                    std::size_t end) {
  const Quantiles& table = quantiles();
  for (std::size_t i = begin; i < end; i += kPerBlock) {
    const PhiloxBlock block = philox(key, i / kPerBlock, 0);
    const std::size_t many = std::min(kPerBlock, end - i);
    for (std::size_t j = 0; j < many; ++j) {
      const std::uint32_t index = (block[j / 2] >> (16 * (j % 2))) & 0xFFFFU;
      out[i + j] = spec.mean + spec.deviation * table[index];
    }
  }
}

constexpr std::size_t kParallelFrom = 1 << 20;

}  // namespace

void generate_weights(const WeightSpec& spec, std::uint64_t seed, std::span<float> out) {
  if (spec.deviation == 0) {
    std::fill(out.begin(), out.end(), spec.mean);
    return;
  }
  quantiles();
  const std::uint64_t key = philox_key(seed, spec.name);
  const std::size_t workers =
      out.size() < kParallelFrom ? 1 : std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 16);
  const std::size_t share = (out.size() / workers / kPerBlock + 1) * kPerBlock;
  std::vector<std::jthread> threads;
  for (std::size_t begin = share; begin < out.size(); begin += share) {
    threads.emplace_back(
        [&, begin] { generate_range(spec, key, out, begin, std::min(begin + share, out.size())); });
  }
  generate_range(spec, key, out, 0, std::min(share, out.size()));
}

}  // namespace touchstone
