// SPDX-License-Identifier: Apache-2.0
#include "weight_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace touchstone {

Result<WeightFile> WeightFile::create(const std::string& path, std::size_t size) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const auto length = static_cast<off_t>(std::max<std::size_t>(size, 1));
  // posix_fallocate finds a full disk here; with a sparse file it would be a bus error later.
  const int full = descriptor < 0 ? errno : posix_fallocate(descriptor, 0, length);
  if (full != 0) {
    if (descriptor >= 0) {
      close(descriptor);
    }
    return fail(Reason::kStorage, "{}: {} bytes of weights cannot be written: {}", path, size,
                strerror(full));
  }
  void* data =
      mmap(nullptr, static_cast<std::size_t>(length), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  const int error = errno;
  close(descriptor);
  if (data == MAP_FAILED) {
    return fail(Reason::kStorage, "{}: cannot be mapped: {}", path, strerror(error));
  }
  return WeightFile(static_cast<std::byte*>(data), static_cast<std::size_t>(length));
}

WeightFile::WeightFile(WeightFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}

WeightFile& WeightFile::operator=(WeightFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

WeightFile::~WeightFile() {
  if (data_ != nullptr) {
    munmap(data_, size_);
  }
}

}  // namespace touchstone
