// SPDX-License-Identifier: Apache-2.0
// weights.bin while it is written.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"

namespace touchstone {

/// Where the next constant may begin: 64-byte aligned, as vector instructions like it.
constexpr std::size_t aligned(std::size_t offset) {
  return (offset + 63) / 64 * 64;
}

/// Mapped at its full size, so that weights are made in place.
class WeightFile {
 public:
  /// Errors: storage, where the disk has not `size` bytes left.
  static Result<WeightFile> create(const std::string& path, std::size_t size);
  WeightFile(WeightFile&& other) noexcept;
  WeightFile& operator=(WeightFile&& other) noexcept;
  ~WeightFile();
  std::span<std::byte> at(std::size_t offset, std::size_t size) const { return {data_ + offset, size}; }

 private:
  WeightFile(std::byte* data, std::size_t size) : data_(data), size_(size) {}
  std::byte* data_;
  std::size_t size_;
};

}  // namespace touchstone
