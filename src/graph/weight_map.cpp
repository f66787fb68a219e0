// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "graph/bundle.h"

namespace touchstone {

WeightMap::Mapping::~Mapping() {
  if (size > 0) {
    munmap(const_cast<std::byte*>(data), size);
  }
}

Result<const WeightMap::Mapping*> WeightMap::map(const std::string& file) {
  const std::scoped_lock lock(mutex_);
  if (const auto found = mappings_.find(file); found != mappings_.end()) {
    return found->second.get();
  }
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    const int error = errno;
    if (descriptor >= 0) {
      close(descriptor);
    }
    return fail(Reason::kInvalidModel, "{}: weights cannot be read: {}", file, strerror(error));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  close(descriptor);
  if (data == MAP_FAILED) {
    return fail(Reason::kInvalidModel, "{}: weights cannot be mapped: {}", file, strerror(errno));
  }
  auto& slot = mappings_[file];
  slot = std::make_unique<Mapping>(static_cast<const std::byte*>(data), size);
  return slot.get();
}

Result<std::span<const std::byte>> WeightMap::bytes(const Constant& constant) {
  if (constant.owned) {
    return std::span<const std::byte>(*constant.owned);
  }
  if (constant.file.empty()) {
    return std::span<const std::byte>();
  }
  TOUCHSTONE_ASSIGN(const Mapping* mapping, map(constant.file));
  if (constant.offset > mapping->size || constant.size > mapping->size - constant.offset) {
    return fail(Reason::kInvalidModel, "{}: holds {} bytes, but a tensor wants {} from {}", constant.file,
                mapping->size, constant.size, constant.offset);
  }
  return std::span(mapping->data + constant.offset, constant.size);
}

}  // namespace touchstone
