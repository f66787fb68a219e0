// SPDX-License-Identifier: Apache-2.0
// Blocked double-precision matrix product; a float32 right-hand side is widened tile by tile.
#pragma once

#include <cstddef>
#include <variant>

namespace touchstone {

using Matrix = std::variant<const double*, const float*>;

/// c[m, n] = a[m, k] · b[k, n], all row-major and dense, on the reference's threads. `c` is overwritten.
void gemm(std::size_t m, std::size_t n, std::size_t k, const double* a, Matrix b, double* c);

}  // namespace touchstone
