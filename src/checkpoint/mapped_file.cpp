// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace touchstone {

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    const int error = errno;
    if (descriptor >= 0) {
      close(descriptor);
    }
    return fail(Reason::kInvalidModel, "{}: cannot be read: {}", path, strerror(error));
  }
  if (!S_ISREG(status.st_mode)) {
    close(descriptor);
    return fail(Reason::kInvalidModel, "{}: is no file", path);
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int error = errno;
  close(descriptor);
  if (data == MAP_FAILED) {
    return fail(Reason::kInvalidModel, "{}: cannot be mapped: {}", path, strerror(error));
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(path, static_cast<const std::byte*>(data), size));
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    munmap(const_cast<std::byte*>(data_), size_);
  }
}

void MappedFile::forget(std::size_t offset, std::size_t size) const {
  // Whole pages inside the range only: a neighbour may still be read.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t begin = (offset + page - 1) / page * page;
  const std::size_t end = (offset + size) / page * page;
  if (begin < end) {
    madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
  }
}

}  // namespace touchstone
