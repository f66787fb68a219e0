// SPDX-License-Identifier: Apache-2.0
#include "datasets/npz.h"

#include <doctest/doctest.h>

#include <random>

#include "support/arrays.h"
#include "support/command.h"

namespace touchstone {
namespace {

Result<Array> parse(const std::string& file) {
  return parse_npy("x", std::as_bytes(std::span(file)));
}

template <class T>
std::vector<T> values(const Array& array) {
  std::vector<T> numbers(array.bytes.size() / sizeof(T));
  std::memcpy(numbers.data(), array.bytes.data(), array.bytes.size());
  return numbers;
}

bool says(const Result<Array>& result, Reason reason, const std::string& part) {
  return !result && result.error().reason == reason && result.error().message.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("arrays_keep_their_type_shape_and_values") {
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  const auto array = parse(npy_file("<f4", {2, 3}, bytes_of(numbers)));
  REQUIRE(array);
  CHECK(array->type == DataType::kFloat);
  CHECK(array->shape == std::vector<std::int64_t>{2, 3});
  CHECK(values<float>(*array) == numbers);
}

TEST_CASE("scalars_vectors_and_empty_arrays_are_read") {
  const auto scalar = parse(npy_file("<i8", {}, bytes_of<std::int64_t>({7})));
  REQUIRE(scalar);
  CHECK(scalar->shape.empty());
  CHECK(values<std::int64_t>(*scalar) == std::vector<std::int64_t>{7});
  CHECK(parse(npy_file("|b1", {3}, std::string(3, '\1')))->type == DataType::kBool);
  CHECK(parse(npy_file("<f8", {0, 4}, ""))->bytes.empty());
}

TEST_CASE("fortrans_order_is_turned") {
  // [[1, 2, 3], [4, 5, 6]], first index fastest.
  const auto array = parse(npy_file("<i4", {2, 3}, bytes_of<std::int32_t>({1, 4, 2, 5, 3, 6}), true));
  REQUIRE(array);
  CHECK(values<std::int32_t>(*array) == std::vector<std::int32_t>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("objects_records_and_other_byte_orders_are_refused") {
  CHECK(says(parse(npy_file("|O", {1}, "abcdefgh")), Reason::kUnsupported, "never executed"));
  CHECK(says(parse(npy_file(">f4", {1}, "abcd")), Reason::kUnsupported, ">f4"));
  CHECK(says(parse(npy_file("<U4", {1}, std::string(16, 'a'))), Reason::kUnsupported, "<U4"));
}

TEST_CASE("a_shape_that_does_not_fit_its_data_is_refused") {
  CHECK(says(parse(npy_file("<f4", {2, 3}, std::string(20, 'a'))), Reason::kInvalidInput, "20 bytes"));
  CHECK(says(parse(npy_file("<f4", {1LL << 40, 1LL << 40}, "")), Reason::kInvalidInput,
             "more than there can be"));
  CHECK(says(parse(npy_file("<f4", {1}, "abcd").substr(0, 40)), Reason::kInvalidInput, "header"));
  CHECK(says(parse("nothing"), Reason::kInvalidInput, "does not begin"));
}

TEST_CASE("an_npz_file_gives_all_its_arrays_compressed_or_not") {
  const TemporaryFolder folder;
  for (const bool compressed : {false, true}) {
    write_npz(folder / "data.npz",
              {{"ids", npy_file("<i8", {1000}, bytes_of(std::vector<std::int64_t>(1000, 3)))},
               {"mask", npy_file("<f4", {2}, bytes_of<float>({0, 1}))}},
              compressed);
    const auto arrays = read_arrays(folder / "data.npz");
    REQUIRE(arrays);
    REQUIRE(arrays->size() == 2);
    CHECK((*arrays)[0].name == "ids");
    CHECK(values<std::int64_t>((*arrays)[0]) == std::vector<std::int64_t>(1000, 3));
    CHECK((*arrays)[1].name == "mask");
  }
}

TEST_CASE("a_single_npy_file_is_an_array_without_a_name") {
  const TemporaryFolder folder;
  write_text(folder / "x.npy", npy_file("<f4", {2}, bytes_of<float>({0, 1})));
  const auto arrays = read_arrays(folder / "x.npy");
  REQUIRE(arrays);
  CHECK(arrays->front().name.empty());
}

TEST_CASE("files_that_are_no_arrays_are_named") {
  const TemporaryFolder folder;
  write_text(folder / "text.npz", "this is a text\n");
  const auto text = read_arrays(folder / "text.npz");
  REQUIRE(!text);
  CHECK(text.error().message.find("text.npz") != std::string::npos);
  CHECK(!read_arrays(folder / "missing.npz"));
  CHECK(!read_arrays(folder.path()));
}

TEST_CASE("spoilt_files_never_crash_the_reader") {
  const std::string whole = npy_file("<f4", {2, 3}, std::string(24, 'a'));
  std::mt19937 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::string spoilt = whole;
    for (int change = 0; change < 3; ++change) {
      spoilt[random() % 80] = static_cast<char>(random());
    }
    spoilt.resize(random() % 4 == 0 ? random() % spoilt.size() : spoilt.size());
    const auto array = parse(spoilt);
    CHECK((!array || array->bytes.size() <= spoilt.size()));
  }
  const TemporaryFolder folder;
  write_npz(folder / "data.npz", {{"x", whole}}, true);
  const std::string archive = read_text(folder / "data.npz");
  for (int i = 0; i < 2000; ++i) {
    std::string spoilt = archive;
    spoilt[random() % spoilt.size()] = static_cast<char>(random());
    spoilt.resize(random() % 4 == 0 ? random() % spoilt.size() : spoilt.size());
    write_text(folder / "spoilt.npz", spoilt);
    const auto arrays = read_arrays(folder / "spoilt.npz");
    CHECK((arrays || !arrays.error().message.empty()));
  }
}

}  // namespace touchstone
