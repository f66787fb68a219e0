// SPDX-License-Identifier: Apache-2.0
#include "worker/protocol.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <thread>

using namespace touchstone;
using nlohmann::json;

namespace {

struct Pair {
  Channel a, b;
};

Pair make_pair() {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  return {Channel(Descriptor(ends[0])), Channel(Descriptor(ends[1]))};
}

void write_raw(const Channel& channel, const std::string& text) {
  REQUIRE(write(channel.descriptor(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

}  // namespace

TEST_CASE("a_line_arrives_whole_and_in_order") {
  auto [a, b] = make_pair();
  REQUIRE(a.send({{"do", "hello"}, {"text", "ü\n"}}));
  REQUIRE(a.send({{"do", "bye"}}));
  CHECK(b.receive()->body["text"] == "ü\n");
  CHECK(b.receive()->body["do"] == "bye");
}

TEST_CASE("a_line_that_comes_in_pieces_is_put_together") {
  auto [a, b] = make_pair();
  std::jthread writer([&a = a] {
    write_raw(a, "{\"x\":");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    write_raw(a, "1}\n");
  });
  CHECK(b.receive()->body["x"] == 1);
}

TEST_CASE("memory_travels_beside_its_line") {
  auto [a, b] = make_pair();
  auto memory = SharedMemory::create(100);
  REQUIRE(memory);
  std::memset(memory->bytes().data(), 7, 100);
  REQUIRE(memory->seal());
  const int descriptor = memory->descriptor();
  REQUIRE(a.send({{"do", "inputs"}}, std::span(&descriptor, 1)));
  auto message = b.receive();
  REQUIRE(message);
  REQUIRE(message->descriptors.size() == 1);
  const auto mapped = SharedMemory::open(std::move(message->descriptors[0]), 100);
  REQUIRE(mapped);
  CHECK(mapped->bytes()[99] == std::byte{7});
}

TEST_CASE("memory_that_could_shrink_or_is_too_small_is_refused") {
  auto unsealed = SharedMemory::create(100);
  REQUIRE(unsealed);
  CHECK_FALSE(SharedMemory::open(Descriptor(fcntl(unsealed->descriptor(), F_DUPFD_CLOEXEC, 0)), 100));
  REQUIRE(unsealed->seal());
  CHECK_FALSE(SharedMemory::open(Descriptor(fcntl(unsealed->descriptor(), F_DUPFD_CLOEXEC, 0)), 101));
  CHECK(ftruncate(unsealed->descriptor(), 10) != 0);
}

TEST_CASE("garbage_is_a_protocol_error_and_names_it") {
  auto [a, b] = make_pair();
  write_raw(a, "this is not JSON\n");
  const auto message = b.receive();
  REQUIRE_FALSE(message);
  CHECK(message.error().reason == Reason::kProtocol);
  CHECK(message.error().message.find("this is not JSON") != std::string::npos);
}

TEST_CASE("a_closed_channel_is_told_from_a_slow_one") {
  auto [a, b] = make_pair();
  const auto slow = b.receive(std::chrono::milliseconds(10));
  REQUIRE_FALSE(slow);
  CHECK(slow.error().reason == Reason::kTimedOut);
  { const Channel gone = std::move(a); }
  const auto closed = b.receive();
  REQUIRE_FALSE(closed);
  CHECK(closed.error().reason == Reason::kCrashed);
}

TEST_CASE("placed_tensors_are_aligned_and_checked") {
  std::size_t total = 0;
  auto places = place_tensors({{"a", DataType::kInt64, {3}}, {"b", DataType::kFloat, {2, 2}}}, total);
  CHECK(places[1].offset == 64);
  CHECK(total == 128);
  std::vector<std::byte> memory(total);
  CHECK(view_tensors(places, memory));
  places[1].offset = 120;
  CHECK_FALSE(view_tensors(places, memory));
  places[1].offset = 64;
  places[1].spec.shape = {3, 3};
  CHECK_FALSE(view_tensors(places, memory));
  places[1].spec.shape = {-1, 4};
  CHECK_FALSE(view_tensors(places, memory));
}

TEST_CASE("requests_and_replies_survive_the_wire") {
  MeasureRequest request;
  request.inner = 5;
  request.min_count = 3;
  request.max_count = 9;
  const auto read = measure_request_from_json(to_json(request));
  REQUIRE(read);
  CHECK(read->inner == 5);
  CHECK(read->max_count == 9);
  CHECK_FALSE(measure_request_from_json(json::object()));
  CHECK_FALSE(measure_reply_from_json({{"samples_ns", "no"}}));
  CHECK_FALSE(tensor_spec_from_json({{"name", "x"}}));
  CHECK_FALSE(conditions_from_json({{"mode", 1}}));
}
