// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/pickle.h"

#include <doctest/doctest.h>

#include <random>

namespace touchstone {
namespace {

using namespace std::string_literals;

auto read(const std::string& pickle) {
  return read_pickled_tensors(std::as_bytes(std::span(pickle)));
}

// A dictionary {"w": a float tensor of `elements` in its storage}, as torch.save writes it.
std::string pickled(const std::string& shape, const std::string& strides, const std::string& offset = "K\0"s,
                    const std::string& elements = "K\x06"s) {
  return "\x80\x02}X\x01\0\0\0w"s +
         "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\n"s + "X\x01\0\0\0"s +
         "0X\x03\0\0\0cpu"s + elements + "tQ" + offset + shape + strides +
         "\x89"
         "ccollections\nOrderedDict\n)RtRs."s;
}

}  // namespace

TEST_CASE("a_state_dictionary_is_read") {
  const auto tensors = read(pickled("K\x02K\x03\x86"s, "K\x03K\x01\x86"s));
  REQUIRE_MESSAGE(tensors, (tensors ? "" : tensors.error().message));
  const PickledTensor& tensor = tensors->at("w");
  CHECK(tensor.key == "0");
  CHECK(tensor.type == DataType::kFloat);
  CHECK(tensor.shape == std::vector<std::int64_t>{2, 3});
  CHECK(tensor.strides == std::vector<std::int64_t>{3, 1});
  CHECK(tensor.storage_elements == 6);
}

TEST_CASE("views_that_reach_beyond_their_storage_are_refused") {
  CHECK(!read(pickled("K\x02K\x04\x86"s, "K\x03K\x01\x86"s)));            // one row too long
  CHECK(!read(pickled("K\x02K\x03\x86"s, "K\x03K\x01\x86"s, "K\x01"s)));  // one element too far
  CHECK(!read(pickled("K\xffK\xff\x86"s, "K\0K\0\x86"s)));                // a storage that repeats
  CHECK(!read(
      pickled("\x8a\x08\0\0\0\0\0\0\0\x40K\x03\x86"s, "\x8a\x08\0\0\0\0\0\0\0\x40K\x01\x86"s)));  // overflows
  CHECK(!read(pickled("K\x02\x85"s, "K\x03K\x01\x86"s)));  // ranks that differ
  CHECK(
      !read(pickled("K\x02K\x03\x86"s, "K\x03K\x01\x86"s, "K\0"s, "J\xff\xff\xff\xff"s)));  // fewer than none
}

TEST_CASE("calls_are_refused_and_never_made") {
  const auto called = read(
      "\x80\x02"
      "cos\nsystem\nX\x05\0\0\0false\x85R."s);
  REQUIRE(!called);
  CHECK(called.error().message.find("os system") != std::string::npos);
  CHECK(called.error().reason == Reason::kUnsupported);
}

TEST_CASE("broken_pickles_are_refused") {
  for (const std::string& pickle :
       {""s, "\x80"s, "\x80\x02"s, "\x80\x09."s, "."s, "\x80\x02}"s, "t."s, "\x80\x02(t."s, "h\0."s, "R."s,
        "Q."s, "s."s, "\x80\x02}(."s, "X\xff\xff\xff\xff"s, "cno newline"s, "\xfe."s, "\x80\x02}."s,
        "]K\x01u."s, "}(K\x01u."s}) {
    CAPTURE(pickle);
    CHECK(!read(pickle));
  }
}

TEST_CASE("deep_nesting_and_cycles_cost_no_stack") {
  CHECK(!read("\x80\x02N"s + std::string(1 << 20, '\x85') + "."));
  CHECK(!read("\x80\x02]q\0h\0a."s));
}

TEST_CASE("random_bytes_never_crash_the_reader") {
  std::mt19937 random(5);
  const std::string whole = pickled("K\x02K\x03\x86"s, "K\x03K\x01\x86"s);
  for (int i = 0; i < 20000; ++i) {
    std::string text = whole;
    for (int change = 0; change < 1 + i % 4; ++change) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    static_cast<void>(read(text));
  }
}

}  // namespace touchstone
