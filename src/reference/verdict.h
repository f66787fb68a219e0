// SPDX-License-Identifier: Apache-2.0
// Whether an engine's output is the reference's, and if not, how it differs. Linked by the driver.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "graph/types.h"

namespace touchstone {

/// How far an element may be off: |actual - expected| <= relative × (|expected| + scale), where scale is the
/// root mean square of the expected tensor. A sum of products is rounded in proportion to its terms, not to
/// its value, so an element near zero is judged by the size of its neighbours.
struct Tolerance {
  double relative = 3e-5;
};

/// f32: 3e-5. On BERT-base three engines show 2e-6 to 5e-6; tanh for erf shows 8e-4, an epsilon of 1e-5 for
/// 1e-12 shows 1e-3 (tests/reference has the mutations). Other precisions have looser ones.
Tolerance tolerance_for(std::string_view precision);

struct Verdict {
  bool equal = false;
  double max_abs = 0;  // largest |actual - expected|
  double max_rel =
      0;  // largest |actual - expected| ÷ (|expected| + scale): what is compared with the tolerance
  double cosine = 1;      // of the two tensors seen as vectors
  std::size_t worst = 0;  // flat index of the largest difference
  std::size_t nans = 0;   // NaN or infinity where the reference has none
  std::string message;    // for a person; empty where equal
};

/// `expected` is float64 or int64 and may have more rows (dimension 0) than `actual`: then only its first
/// rows count, if `prefix` allows it. Integer and bool outputs have to be the same to the last bit.
Verdict compare_tensors(const TensorView& actual, const TensorView& expected, Tolerance tolerance,
                        bool prefix);

}  // namespace touchstone
