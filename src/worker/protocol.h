// SPDX-License-Identifier: Apache-2.0
// The wire between driver and worker: JSON Lines over a Unix stream socket, tensors in shared memory whose
// descriptors travel beside a line. docs/protocol.md describes the messages.
#pragma once

#include <chrono>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/types.h"
#include "worker/engine.h"

namespace touchstone {

inline constexpr int kProtocolVersion = 1;

/// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  int get() const { return value_; }
  explicit operator bool() const { return value_ >= 0; }

 private:
  int value_ = -1;
};

struct Message {
  nlohmann::json body;
  std::vector<Descriptor> descriptors;
};

class Channel {
 public:
  explicit Channel(Descriptor socket) : socket_(std::move(socket)) {}

  /// Sends one line and the descriptors beside it (they stay the caller's). Errors: crashed, where nobody
  /// listens.
  Result<void> send(const nlohmann::json& body, std::span<const int> descriptors = {});

  /// Waits for one line; a timeout of zero waits for ever. Errors: crashed (the other end is closed),
  /// timed-out, protocol (not JSON, or a line beyond 64 MiB), interrupted (a signal came).
  Result<Message> receive(std::chrono::nanoseconds timeout = {});

  int descriptor() const { return socket_.get(); }

 private:
  Result<void> wait_readable(std::chrono::steady_clock::time_point deadline, bool forever) const;
  Result<void> read_some();

  Descriptor socket_;
  std::string buffer_;
  std::size_t searched_ = 0;  // of buffer_, without finding an end of line
  std::vector<Descriptor> received_;
};

/// Anonymous shared memory (memfd), mapped into this process.
class SharedMemory {
 public:
  /// New memory of `size` bytes, writable here. Errors: out-of-memory.
  static Result<SharedMemory> create(std::size_t size);
  /// Maps what the other side made, read-only; `size` is checked against the file. Errors: protocol.
  static Result<SharedMemory> open(Descriptor descriptor, std::size_t size);
  /// Forbids shrinking and growing, so that a mapping can never fault.
  Result<void> seal() const;

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();
  int descriptor() const { return descriptor_.get(); }
  std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  SharedMemory(Descriptor descriptor, std::byte* data, std::size_t size)
      : descriptor_(std::move(descriptor)), data_(data), size_(size) {}
  Descriptor descriptor_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Where one tensor lies in a shared memory.
struct TensorPlace {
  TensorSpec spec;
  std::size_t offset = 0;
  std::size_t size = 0;
};

/// Places tensors one after the other, 64-byte aligned; returns the places, and the whole size in `total`.
std::vector<TensorPlace> place_tensors(const std::vector<TensorSpec>& specs, std::size_t& total);
/// Views of placed tensors. Errors: protocol, where a place is outside the memory or its size is not the
/// shape's.
Result<std::vector<TensorView>> view_tensors(const std::vector<TensorPlace>& places,
                                             std::span<std::byte> memory);

nlohmann::json to_json(const TensorSpec& spec);
nlohmann::json to_json(const TensorPlace& place);
nlohmann::json to_json(const Conditions& conditions);
/// The inverses. Errors: protocol, naming the field.
Result<TensorSpec> tensor_spec_from_json(const nlohmann::json& json);
Result<std::vector<TensorPlace>> tensor_places_from_json(const nlohmann::json& json);
Result<Conditions> conditions_from_json(const nlohmann::json& json);

/// What the driver asks of one turn.
struct MeasureRequest {
  std::int64_t warm_max_count = 0;  // untimed for the statistics, reported all the same
  std::int64_t warm_max_ns = 0;
  std::int64_t min_count = 1;  // samples: at least this many …
  std::int64_t max_count = 1;  // … at most this many …
  std::int64_t min_ns = 0;     // … for at least this long …
  std::int64_t max_ns = 0;     // … and none begun after this long, but for the first; 0: no limit
  std::int64_t inner = 1;      // inferences per sample; the sample is their mean
};

/// What came of it. Times are integer nanoseconds of CLOCK_MONOTONIC.
struct MeasureReply {
  std::vector<std::int64_t> warm_ns;
  std::vector<std::int64_t> samples_ns;
  std::int64_t inner = 1;
  std::int64_t cpu_ns = 0;  // CPU time of the whole process during the samples
  std::int64_t wall_ns = 0;
  std::int64_t voluntary = 0, involuntary = 0;  // context switches during the samples
  std::int64_t start_ns = 0, end_ns = 0;
};

nlohmann::json to_json(const MeasureRequest& request);
nlohmann::json to_json(const MeasureReply& reply);
Result<MeasureRequest> measure_request_from_json(const nlohmann::json& json);
Result<MeasureReply> measure_reply_from_json(const nlohmann::json& json);

}  // namespace touchstone
