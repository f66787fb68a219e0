// SPDX-License-Identifier: Apache-2.0
// The loop order and blocking follow Goto and van de Geijn, "Anatomy of high-performance matrix
// multiplication" (2008).
#include "reference/gemm.h"

#include <immintrin.h>

#include <algorithm>
#include <vector>

#include "reference/value.h"

namespace touchstone {
namespace {

constexpr std::size_t kRows = 6;        // of a micro-tile
constexpr std::size_t kColumns = 8;     // two registers of four doubles
constexpr std::size_t kDepth = 256;     // of a packed panel
constexpr std::size_t kBlockRows = 96;  // packed block of a: 192 KiB, within the second cache
constexpr std::size_t kBlockColumns = 512;

// A micro-tile: packed_a holds kRows values a step, packed_b kColumns.
using Kernel = void (*)(std::size_t depth, const double* packed_a, const double* packed_b, double* tile);

void kernel_portable(std::size_t depth, const double* packed_a, const double* packed_b, double* tile) {
  double sums[kRows * kColumns] = {};
  for (std::size_t p = 0; p < depth; ++p) {
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < kColumns; ++j) {
        sums[i * kColumns + j] += packed_a[p * kRows + i] * packed_b[p * kColumns + j];
      }
    }
  }
  std::copy(sums, sums + kRows * kColumns, tile);
}

// Named variables, as GCC keeps an array of registers in memory.
struct Row {
  __m256d left, right;
};

__attribute__((target("avx2,fma"), always_inline)) inline void multiply_row(Row& row, const double* a,
                                                                            __m256d left, __m256d right) {
  const __m256d factor = _mm256_broadcast_sd(a);
  row.left = _mm256_fmadd_pd(factor, left, row.left);
  row.right = _mm256_fmadd_pd(factor, right, row.right);
}

__attribute__((target("avx2,fma"), always_inline)) inline void store_row(const Row& row, double* to) {
  _mm256_storeu_pd(to, row.left);
  _mm256_storeu_pd(to + 4, row.right);
}

__attribute__((target("avx2,fma"))) void kernel_avx2(std::size_t depth, const double* packed_a,
                                                     const double* packed_b, double* tile) {
  const Row zero{_mm256_setzero_pd(), _mm256_setzero_pd()};
  Row r0 = zero, r1 = zero, r2 = zero, r3 = zero, r4 = zero, r5 = zero;
  for (std::size_t p = 0; p < depth; ++p, packed_a += kRows, packed_b += kColumns) {
    const __m256d left = _mm256_loadu_pd(packed_b);
    const __m256d right = _mm256_loadu_pd(packed_b + 4);
    multiply_row(r0, packed_a, left, right);
    multiply_row(r1, packed_a + 1, left, right);
    multiply_row(r2, packed_a + 2, left, right);
    multiply_row(r3, packed_a + 3, left, right);
    multiply_row(r4, packed_a + 4, left, right);
    multiply_row(r5, packed_a + 5, left, right);
  }
  store_row(r0, tile);
  store_row(r1, tile + kColumns);
  store_row(r2, tile + 2 * kColumns);
  store_row(r3, tile + 3 * kColumns);
  store_row(r4, tile + 4 * kColumns);
  store_row(r5, tile + 5 * kColumns);
}

Kernel choose_kernel() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? kernel_avx2 : kernel_portable;
}

// Panels of kRows rows, one column after the other; missing rows are zeros.
void pack_a(const double* a, std::size_t stride, std::size_t rows, std::size_t depth, double* packed) {
  for (std::size_t top = 0; top < rows; top += kRows) {
    const std::size_t here = std::min(kRows, rows - top);
    for (std::size_t p = 0; p < depth; ++p) {
      for (std::size_t i = 0; i < kRows; ++i) {
        *packed++ = i < here ? a[(top + i) * stride + p] : 0.0;
      }
    }
  }
}

template <class T>
void pack_b(const T* b, std::size_t stride, std::size_t depth, std::size_t columns, double* packed) {
  for (std::size_t left = 0; left < columns; left += kColumns) {
    const std::size_t here = std::min(kColumns, columns - left);
    for (std::size_t p = 0; p < depth; ++p) {
      const T* row = b + p * stride + left;
      for (std::size_t j = 0; j < kColumns; ++j) {
        *packed++ = j < here ? static_cast<double>(row[j]) : 0.0;
      }
    }
  }
}

void add_tile(const double* tile, std::size_t rows, std::size_t columns, double* c, std::size_t stride) {
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      c[i * stride + j] += tile[i * kColumns + j];
    }
  }
}

struct Product {
  std::size_t m, n, k;
  const double* a;
  Matrix b;
  double* c;
};

// All rows of the columns [begin, end): one thread's share.
void multiply_columns(const Product& product, std::size_t begin, std::size_t end, Kernel kernel) {
  const std::size_t depth_room = std::min(kDepth, product.k);
  const std::size_t block_rows = std::min(kBlockRows, (product.m + kRows - 1) / kRows * kRows);
  std::vector<double> packed_a(block_rows * depth_room);
  std::vector<double> packed_b((kBlockColumns + kColumns) * depth_room);
  double tile[kRows * kColumns];
  for (std::size_t left = begin; left < end; left += kBlockColumns) {
    const std::size_t columns = std::min(kBlockColumns, end - left);
    for (std::size_t p = 0; p < product.k; p += kDepth) {
      const std::size_t depth = std::min(kDepth, product.k - p);
      std::visit(
          [&](const auto* b) {
            pack_b(b + p * product.n + left, product.n, depth, columns, packed_b.data());
          },
          product.b);
      for (std::size_t top = 0; top < product.m; top += block_rows) {
        const std::size_t rows = std::min(block_rows, product.m - top);
        pack_a(product.a + top * product.k + p, product.k, rows, depth, packed_a.data());
        for (std::size_t j = 0; j < columns; j += kColumns) {
          for (std::size_t i = 0; i < rows; i += kRows) {
            kernel(depth, packed_a.data() + i * depth, packed_b.data() + j * depth, tile);
            add_tile(tile, std::min(kRows, rows - i), std::min(kColumns, columns - j),
                     product.c + (top + i) * product.n + left + j, product.n);
          }
        }
      }
    }
  }
}

// Below this many multiplications threads and packing cost more than they bring.
constexpr std::size_t kSmall = 1 << 15;

}  // namespace

void gemm(std::size_t m, std::size_t n, std::size_t k, const double* a, Matrix b, double* c) {
  static const Kernel kKernel = choose_kernel();
  std::fill(c, c + m * n, 0.0);
  if (m == 0 || n == 0 || k == 0) {
    return;
  }
  const Product product{m, n, k, a, b, c};
  const std::size_t grain = m * n * k < kSmall ? n : std::max(kColumns, n / 64 / kColumns * kColumns);
  // Shares start at multiples of a micro-tile's width.
  const std::size_t units = (n + kColumns - 1) / kColumns;
  parallel_for(units, std::max<std::size_t>(1, grain / kColumns), [&](std::size_t begin, std::size_t end) {
    multiply_columns(product, begin * kColumns, std::min(end * kColumns, n), kKernel);
  });
}

}  // namespace touchstone
