// SPDX-License-Identifier: Apache-2.0
#include "reference/verdict.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace touchstone;

namespace {

template <class T>
TensorView view(DataType type, std::vector<std::int64_t> shape, std::vector<T>& data) {
  return {type, std::move(shape), std::as_writable_bytes(std::span(data))};
}

}  // namespace

TEST_CASE("rounding_is_equal_and_a_fault_is_not") {
  std::vector<double> expected = {1, -2, 3, 0};
  std::vector<float> close = {1.00001F, -2, 3, 0.00001F};
  std::vector<float> far = {1.01F, -2, 3, 0};
  const auto reference = view(DataType::kDouble, {4}, expected);
  CHECK(compare_tensors(view(DataType::kFloat, {4}, close), reference, {1e-4}, false).equal);
  const Verdict verdict = compare_tensors(view(DataType::kFloat, {4}, far), reference, {1e-4}, false);
  CHECK_FALSE(verdict.equal);
  CHECK(verdict.worst == 0);
  CHECK(verdict.max_abs == doctest::Approx(0.01).epsilon(0.01));
  CHECK(verdict.message.find("element 0") != std::string::npos);
}

TEST_CASE("nan_and_infinity_are_faults_unless_the_reference_has_them") {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> expected = {1, nan, infinity};
  std::vector<double> same = {1, nan, infinity};
  std::vector<double> other = {nan, 1, -infinity};
  const auto reference = view(DataType::kDouble, {3}, expected);
  CHECK(compare_tensors(view(DataType::kDouble, {3}, same), reference, {}, false).equal);
  CHECK(compare_tensors(view(DataType::kDouble, {3}, other), reference, {}, false).nans == 3);
}

TEST_CASE("shapes_must_agree_but_for_rows_where_that_is_allowed") {
  std::vector<double> two_rows = {1, 2, 3, 4};
  std::vector<double> one_row = {1, 2};
  const auto reference = view(DataType::kDouble, {2, 2}, two_rows);
  const auto actual = view(DataType::kDouble, {1, 2}, one_row);
  CHECK_FALSE(compare_tensors(actual, reference, {}, false).equal);
  CHECK(compare_tensors(actual, reference, {}, true).equal);
  CHECK(compare_tensors(reference, actual, {}, true).equal);
}

TEST_CASE("integers_have_to_be_the_same") {
  std::vector<std::int64_t> expected = {1000000, 2};
  std::vector<std::int32_t> same = {1000000, 2};
  std::vector<std::int32_t> off = {1000001, 2};
  const auto reference = view(DataType::kInt64, {2}, expected);
  CHECK(compare_tensors(view(DataType::kInt32, {2}, same), reference, {0.1}, false).equal);
  CHECK_FALSE(compare_tensors(view(DataType::kInt32, {2}, off), reference, {0.1}, false).equal);
}

TEST_CASE("integers_beyond_what_a_double_holds_are_told_apart") {
  std::vector<std::int64_t> expected = {(std::int64_t{1} << 60) + 1};
  std::vector<std::int64_t> off = {std::int64_t{1} << 60};
  const auto reference = view(DataType::kInt64, {1}, expected);
  CHECK(compare_tensors(reference, reference, {}, false).equal);
  CHECK_FALSE(compare_tensors(view(DataType::kInt64, {1}, off), reference, {}, false).equal);
}

TEST_CASE("empty_tensors_are_equal") {
  std::vector<double> nothing;
  const auto empty = view(DataType::kDouble, {0, 3}, nothing);
  CHECK(compare_tensors(empty, empty, {}, false).equal);
}

TEST_CASE("top_1_counts_the_vectors_whose_largest_is_elsewhere") {
  std::vector<double> expected = {1, 3, 2, /**/ 5, 4, 3, /**/ 0, 1, 2, /**/ 9, 1, 1};
  std::vector<float> actual = {1, 30, 2, /**/ 5, 4, 3, /**/ 2, 1, 0, /**/ 9, 1, 1};
  const auto reference = view(DataType::kDouble, {2, 2, 3}, expected);
  const auto other = view(DataType::kFloat, {2, 2, 3}, actual);
  const Verdict strict = compare_tensors(other, reference, {0, Tolerance::By::kTop1}, false);
  CHECK_FALSE(strict.equal);
  CHECK(strict.vectors == 4);
  CHECK(strict.same_top == 3);
  CHECK(strict.message.find("vector 2") != std::string::npos);
  CHECK(compare_tensors(other, reference, {0.25, Tolerance::By::kTop1}, false).equal);
  CHECK_FALSE(compare_tensors(other, reference, {0.24, Tolerance::By::kTop1}, false).equal);
}

TEST_CASE("the_row_with_the_smallest_cosine_decides") {
  std::vector<double> expected = {1, 0, /**/ 1, 1};
  std::vector<float> actual = {5, 0, /**/ 1, 0};
  const Verdict verdict =
      compare_tensors(view(DataType::kFloat, {2, 2}, actual), view(DataType::kDouble, {2, 2}, expected),
                      {0.1, Tolerance::By::kCosine}, false);
  CHECK_FALSE(verdict.equal);
  CHECK(verdict.cosine == doctest::Approx(std::sqrt(0.5)));
  CHECK(verdict.message.find("row 1") != std::string::npos);
  std::vector<float> scaled = {5, 0, /**/ 7, 7};
  CHECK(compare_tensors(view(DataType::kFloat, {2, 2}, scaled), view(DataType::kDouble, {2, 2}, expected),
                        {1e-6, Tolerance::By::kCosine}, false)
            .equal);
}

TEST_CASE("nan_is_wrong_however_it_is_judged") {
  std::vector<double> expected = {1, 2};
  std::vector<float> actual = {std::numeric_limits<float>::quiet_NaN(), 2};
  for (const auto by : {Tolerance::By::kLargestError, Tolerance::By::kCosine, Tolerance::By::kTop1}) {
    CHECK_FALSE(compare_tensors(view(DataType::kFloat, {2}, actual), view(DataType::kDouble, {2}, expected),
                                {1, by}, false)
                    .equal);
  }
}
