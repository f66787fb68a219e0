// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "worker/protocol.h"

namespace touchstone {
namespace {

constexpr std::size_t kLongestLine = 64U << 20;
constexpr std::size_t kMostDescriptors = 8;

}  // namespace

Descriptor::Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}

Descriptor::~Descriptor() {
  if (value_ >= 0) {
    close(value_);
  }
}

Result<void> Channel::send(const nlohmann::json& body, std::span<const int> descriptors) {
  const std::string line = body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  std::size_t sent = 0;
  while (sent < line.size()) {
    iovec part{const_cast<char*>(line.data()) + sent, line.size() - sent};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (sent == 0 && !descriptors.empty()) {
      header.msg_control = control.data();
      header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
      cmsghdr* beside = CMSG_FIRSTHDR(&header);
      beside->cmsg_level = SOL_SOCKET;
      beside->cmsg_type = SCM_RIGHTS;
      beside->cmsg_len = CMSG_LEN(descriptors.size_bytes());
      std::memcpy(CMSG_DATA(beside), descriptors.data(), descriptors.size_bytes());
    }
    const auto count = sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return fail(Reason::kCrashed, "the other end of the channel is gone ({})", strerror(errno));
    }
    sent += static_cast<std::size_t>(count);
  }
  return {};
}

Result<void> Channel::wait_readable(std::chrono::steady_clock::time_point deadline, bool forever) const {
  int milliseconds = -1;
  if (!forever) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    milliseconds = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30));
  }
  pollfd entry{socket_.get(), POLLIN, 0};
  const int ready = poll(&entry, 1, milliseconds);
  if (ready < 0) {
    return fail(Reason::kInterrupted, "interrupted by a signal");
  }
  if (ready == 0) {
    return fail(Reason::kTimedOut, "no answer in time");
  }
  return {};
}

Result<void> Channel::read_some() {
  std::array<char, 65536> chunk;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  iovec part{chunk.data(), chunk.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const auto count = recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC);
  if (count < 0 && errno == EINTR) {
    return {};
  }
  if (count <= 0) {
    return fail(Reason::kCrashed, "the other end closed the channel");
  }
  for (cmsghdr* beside = CMSG_FIRSTHDR(&header); beside != nullptr; beside = CMSG_NXTHDR(&header, beside)) {
    if (beside->cmsg_level != SOL_SOCKET || beside->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const std::size_t many = (beside->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < many; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(beside) + i * sizeof(int), sizeof descriptor);
      received_.emplace_back(descriptor);
    }
  }
  buffer_.append(chunk.data(), static_cast<std::size_t>(count));
  return {};
}

Result<Message> Channel::receive(std::chrono::nanoseconds timeout) {
  const bool forever = timeout.count() == 0;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::size_t end = std::string::npos;
  while ((end = buffer_.find('\n', searched_)) == std::string::npos) {
    searched_ = buffer_.size();
    if (buffer_.size() > kLongestLine) {
      return fail(Reason::kProtocol, "a line on the channel is longer than {} bytes", kLongestLine);
    }
    TOUCHSTONE_TRY(wait_readable(deadline, forever));
    TOUCHSTONE_TRY(read_some());
  }
  Message message;
  message.body = nlohmann::json::parse(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(end),
                                       nullptr, false);
  if (message.body.is_discarded() || !message.body.is_object()) {
    return fail(Reason::kProtocol, "a line on the channel is not a JSON object: '{}'",
                buffer_.substr(0, std::min<std::size_t>(end, 80)));
  }
  buffer_.erase(0, end + 1);
  searched_ = 0;
  message.descriptors = std::move(received_);
  received_.clear();
  return message;
}

Result<SharedMemory> SharedMemory::create(std::size_t size) {
  Descriptor descriptor(memfd_create("touchstone", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const std::size_t mapped = std::max<std::size_t>(size, 1);
  if (!descriptor || ftruncate(descriptor.get(), static_cast<off_t>(mapped)) != 0) {
    return fail(Reason::kOutOfMemory, "cannot make {} bytes of shared memory: {}", size, strerror(errno));
  }
  void* data = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
  if (data == MAP_FAILED) {
    return fail(Reason::kOutOfMemory, "cannot map {} bytes of shared memory: {}", size, strerror(errno));
  }
  return SharedMemory(std::move(descriptor), static_cast<std::byte*>(data), mapped);
}

Result<SharedMemory> SharedMemory::open(Descriptor descriptor, std::size_t size) {
  const std::size_t mapped = std::max<std::size_t>(size, 1);
  struct stat status {};
  if (fstat(descriptor.get(), &status) != 0 || static_cast<std::size_t>(status.st_size) < mapped) {
    return fail(Reason::kProtocol, "shared memory of {} bytes was announced, {} came", size, status.st_size);
  }
  const int seals = fcntl(descriptor.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return fail(Reason::kProtocol, "shared memory came without the seal against shrinking");
  }
  void* data = mmap(nullptr, mapped, PROT_READ, MAP_SHARED, descriptor.get(), 0);
  if (data == MAP_FAILED) {
    return fail(Reason::kOutOfMemory, "cannot map {} bytes of shared memory: {}", size, strerror(errno));
  }
  return SharedMemory(std::move(descriptor), static_cast<std::byte*>(data), mapped);
}

Result<void> SharedMemory::seal() const {
  if (fcntl(descriptor_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return fail(Reason::kInternal, "cannot seal shared memory: {}", strerror(errno));
  }
  return {};
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) {
    munmap(data_, size_);
  }
}

}  // namespace touchstone
