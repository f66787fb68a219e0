// SPDX-License-Identifier: Apache-2.0
#include "reference/verdict.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/half.h"

namespace touchstone {
namespace {

template <class T>
T load(const TensorView& view, std::size_t index) {
  T value;
  std::memcpy(&value, view.bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

double element(const TensorView& view, std::size_t index) {
  switch (view.type) {
    case DataType::kFloat:
      return load<float>(view, index);
    case DataType::kDouble:
      return load<double>(view, index);
    case DataType::kFloat16:
      return float_from_float16(load<std::uint16_t>(view, index));
    case DataType::kBfloat16:
      return float_from_bfloat16(load<std::uint16_t>(view, index));
    case DataType::kInt64:
      return static_cast<double>(load<std::int64_t>(view, index));
    case DataType::kInt32:
      return load<std::int32_t>(view, index);
    case DataType::kInt16:
      return load<std::int16_t>(view, index);
    case DataType::kInt8:
      return load<std::int8_t>(view, index);
    case DataType::kUint64:
      return static_cast<double>(load<std::uint64_t>(view, index));
    case DataType::kUint32:
      return load<std::uint32_t>(view, index);
    case DataType::kUint16:
      return load<std::uint16_t>(view, index);
    case DataType::kUint8:
    case DataType::kBool:
      return load<std::uint8_t>(view, index);
    default:
      return std::nan("");
  }
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

bool shapes_fit(const TensorView& actual, const TensorView& expected, bool prefix) {
  if (actual.shape == expected.shape) {
    return true;
  }
  return prefix && actual.shape.size() == expected.shape.size() && !actual.shape.empty() &&
         std::equal(actual.shape.begin() + 1, actual.shape.end(), expected.shape.begin() + 1);
}

double root_mean_square(const TensorView& view, std::size_t count) {
  double sum = 0;
  std::size_t finite = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = element(view, i);
    if (std::isfinite(value)) {
      sum += value * value;
      ++finite;
    }
  }
  return finite == 0 ? 0 : std::sqrt(sum / static_cast<double>(finite));
}

// Integers have to be the same to the last bit.
bool is_exact(DataType type) {
  return type != DataType::kFloat && type != DataType::kDouble && type != DataType::kFloat16 &&
         type != DataType::kBfloat16;
}

// Fills in all but the judgement.
void measure_difference(const TensorView& actual, const TensorView& expected, std::size_t count, bool exact,
                        Verdict& verdict) {
  const double scale = exact ? 0 : root_mean_square(expected, count);
  double dot = 0, actual_square = 0, expected_square = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double a = element(actual, i);
    const double e = element(expected, i);
    if (!std::isfinite(e) || !std::isfinite(a)) {
      const bool same = a == e || (std::isnan(a) && std::isnan(e));
      verdict.nans += same ? 0 : 1;
      continue;
    }
    // Beyond 2^53 a double does not tell integers apart.
    const bool other = expected.type == DataType::kInt64 && actual.type == DataType::kInt64 &&
                       load<std::int64_t>(actual, i) != load<std::int64_t>(expected, i);
    const double difference = other ? std::max(1.0, std::abs(a - e)) : std::abs(a - e);
    const double size = std::abs(e) + scale;
    const double relative = difference == 0 ? 0 : size == 0 ? INFINITY : difference / size;
    if (relative > verdict.max_rel) {
      verdict.max_rel = relative;
      verdict.worst = i;
    }
    verdict.max_abs = std::max(verdict.max_abs, difference);
    dot += a * e;
    actual_square += a * a;
    expected_square += e * e;
  }
  const double lengths = std::sqrt(actual_square) * std::sqrt(expected_square);
  verdict.cosine = lengths == 0 ? (actual_square == expected_square ? 1 : 0) : dot / lengths;
}

void judge_by_error(const TensorView& actual, const TensorView& expected, bool exact, Tolerance tolerance,
                    std::string_view truth, Verdict& verdict) {
  verdict.equal = exact ? verdict.max_abs == 0 : verdict.max_rel <= tolerance.limit;
  if (!verdict.equal) {
    verdict.message = fmt::format(
        "element {} is {:.6g} where {} has {:.6g}: off by {:.2g} of the output's scale, {:.0e} is allowed; "
        "cosine {:.6f}",
        verdict.worst, element(actual, verdict.worst), truth, element(expected, verdict.worst),
        verdict.max_rel, exact ? 0 : tolerance.limit, verdict.cosine);
  }
}

// The smallest cosine of any row.
void judge_by_cosine(const TensorView& actual, const TensorView& expected, std::size_t count,
                     Tolerance tolerance, std::string_view truth, Verdict& verdict) {
  const std::size_t rows =
      actual.shape.size() < 2
          ? 1
          : static_cast<std::size_t>(std::min(actual.shape.front(), expected.shape.front()));
  const std::size_t size = rows == 0 ? 0 : count / rows;
  std::size_t worst = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    double dot = 0, actual_square = 0, expected_square = 0;
    for (std::size_t i = row * size; i < (row + 1) * size; ++i) {
      const double a = element(actual, i);
      const double e = element(expected, i);
      dot += a * e;
      actual_square += a * a;
      expected_square += e * e;
    }
    const double lengths = std::sqrt(actual_square) * std::sqrt(expected_square);
    const double cosine = lengths == 0 ? (actual_square == expected_square ? 1 : 0) : dot / lengths;
    if (row == 0 || cosine < verdict.cosine) {
      verdict.cosine = cosine;
      worst = row;
    }
  }
  verdict.equal = 1 - verdict.cosine <= tolerance.limit;
  if (!verdict.equal) {
    verdict.message = fmt::format("row {} has a cosine of {:.6f} to that of {}; {:.6f} is asked for", worst,
                                  verdict.cosine, truth, 1 - tolerance.limit);
  }
}

void judge_by_top(const TensorView& actual, const TensorView& expected, std::size_t count,
                  Tolerance tolerance, std::string_view truth, Verdict& verdict) {
  const std::size_t size = actual.shape.empty() ? 1 : static_cast<std::size_t>(actual.shape.back());
  verdict.vectors = size == 0 ? 0 : count / size;
  const auto top = [&](const TensorView& view, std::size_t begin) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < size; ++i) {
      best = element(view, begin + i) > element(view, begin + best) ? i : best;
    }
    return best;
  };
  std::optional<std::size_t> first_other;
  for (std::size_t vector = 0; vector < verdict.vectors; ++vector) {
    const bool same = top(actual, vector * size) == top(expected, vector * size);
    verdict.same_top += same ? 1 : 0;
    first_other = same || first_other ? first_other : vector;
  }
  const auto other = static_cast<double>(verdict.vectors - verdict.same_top);
  verdict.equal = other <= tolerance.limit * static_cast<double>(verdict.vectors);
  if (!verdict.equal) {
    verdict.message = fmt::format(
        "the largest element is where {} has it in {} of {} vectors; vector {} is the "
        "first where it is not ({} instead of {})",
        truth, verdict.same_top, verdict.vectors, *first_other, top(actual, *first_other * size),
        top(expected, *first_other * size));
  }
}

}  // namespace

Tolerance tolerance_for(std::string_view precision) {
  if (precision == "bf16") {
    return {5e-2};
  }
  if (precision == "f16") {
    return {1e-2};
  }
  if (precision == "int8") {
    return {2e-1};
  }
  return {3e-5};
}

std::optional<Tolerance::By> judged_by(std::string_view word) {
  if (word == "largest-error") {
    return Tolerance::By::kLargestError;
  }
  if (word == "cosine") {
    return Tolerance::By::kCosine;
  }
  return word == "top-1" ? std::optional(Tolerance::By::kTop1) : std::nullopt;
}

Verdict compare_tensors(const TensorView& actual, const TensorView& expected, Tolerance tolerance,
                        bool prefix, std::string_view truth) {
  Verdict verdict;
  if (!shapes_fit(actual, expected, prefix)) {
    verdict.message = fmt::format("its shape is {}, that of {} {}", shape_text(actual.shape), truth,
                                  shape_text(expected.shape));
    return verdict;
  }
  const std::size_t count = std::min(element_count(actual.shape), element_count(expected.shape));
  const bool exact = is_exact(expected.type);
  measure_difference(actual, expected, count, exact, verdict);
  if (verdict.nans > 0) {
    verdict.message =
        fmt::format("{} of {} elements are NaN or infinite where those of {} are not (or the reverse)",
                    verdict.nans, count, truth);
    return verdict;
  }
  if (tolerance.by == Tolerance::By::kCosine && !exact) {
    judge_by_cosine(actual, expected, count, tolerance, truth, verdict);
  } else if (tolerance.by == Tolerance::By::kTop1) {
    judge_by_top(actual, expected, count, tolerance, truth, verdict);
  } else {
    judge_by_error(actual, expected, exact, tolerance, truth, verdict);
  }
  return verdict;
}

}  // namespace touchstone
