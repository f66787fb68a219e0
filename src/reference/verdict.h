// SPDX-License-Identifier: Apache-2.0
// Whether an engine's output is the reference's, and if not, how it differs. Linked by the driver.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "graph/types.h"

namespace touchstone {

/// How a tensor is judged, and how far off it may be.
/// largest-error: |actual - expected| <= limit × (|expected| + scale) for every element, where scale is the
/// root mean square of the expected tensor. A sum of products is rounded in proportion to its terms, not to
/// its value, so an element near zero is judged by the size of its neighbours.
/// cosine: 1 - cosine <= limit for every row (what dimension 0 counts), seen as a vector.
/// top-1: the largest element of each vector along the last dimension is at the same place, but for the share
/// `limit` of the vectors.
struct Tolerance {
  enum class By { kLargestError, kCosine, kTop1 };
  double limit = 3e-5;
  By by = By::kLargestError;
};

/// `largest-error`, `cosine`, `top-1`; nothing for another word.
std::optional<Tolerance::By> judged_by(std::string_view word);

/// f32: 3e-5. On BERT-base three engines show 2e-6 to 5e-6; tanh for erf shows 8e-4, an epsilon of 1e-5 for
/// 1e-12 shows 1e-3 (tests/reference has the mutations). Other precisions have looser ones.
Tolerance tolerance_for(std::string_view precision);

struct Verdict {
  bool equal = false;
  double max_abs = 0;  // largest |actual - expected|
  double max_rel =
      0;  // largest |actual - expected| ÷ (|expected| + scale): what is compared with the tolerance
  double cosine = 1;                      // of the two tensors seen as vectors
  std::size_t worst = 0;                  // flat index of the largest difference
  std::size_t nans = 0;                   // NaN or infinity where the expected tensor has none
  std::size_t vectors = 0, same_top = 0;  // top-1 only: vectors, and those whose largest is at the same place
  std::string message;                    // for a person; empty where equal
};

/// `expected` may have more rows (dimension 0) than `actual`, or fewer: then only the rows that both have
/// count, if `prefix` allows it. Where integers or booleans are expected, all have to be the same to the last
/// bit. `truth` says in messages whose the expected tensor is: "the reference".
Verdict compare_tensors(const TensorView& actual, const TensorView& expected, Tolerance tolerance,
                        bool prefix, std::string_view truth = "the reference");

}  // namespace touchstone
