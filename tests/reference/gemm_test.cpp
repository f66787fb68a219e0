// SPDX-License-Identifier: Apache-2.0
#include "reference/gemm.h"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "reference/value.h"

using namespace touchstone;

TEST_CASE("every_edge_of_the_blocking_multiplies_right") {
  set_reference_threads(2);
  std::mt19937_64 generator(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const auto& [m, n, k] :
       {std::tuple{1, 1, 1}, {6, 8, 256}, {7, 9, 257}, {97, 513, 300}, {100, 7, 5}, {3, 2000, 64}}) {
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    std::vector<double> a(static_cast<std::size_t>(m) * static_cast<std::size_t>(k));
    std::vector<float> b(static_cast<std::size_t>(k) * static_cast<std::size_t>(n));
    for (double& x : a) {
      x = uniform(generator);
    }
    for (float& x : b) {
      x = uniform(generator);
    }
    const std::vector<double> wide(b.begin(), b.end());
    std::vector<double> from_float(static_cast<std::size_t>(m) * static_cast<std::size_t>(n));
    std::vector<double> from_double(from_float.size());
    gemm(m, n, k, a.data(), b.data(), from_float.data());
    gemm(m, n, k, a.data(), wide.data(), from_double.data());
    double worst = 0;
    for (std::size_t i = 0; i < from_float.size(); ++i) {
      double sum = 0;
      for (std::size_t p = 0; p < static_cast<std::size_t>(k); ++p) {
        sum += a[i / static_cast<std::size_t>(n) * static_cast<std::size_t>(k) + p] *
               wide[p * static_cast<std::size_t>(n) + i % static_cast<std::size_t>(n)];
      }
      worst = std::max(worst, std::abs(sum - from_float[i]));
    }
    CHECK(worst < 1e-11);
    CHECK(from_float == from_double);
  }
}
