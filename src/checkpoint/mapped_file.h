// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace touchstone {

/// A file mapped read-only, whole.
class MappedFile {
 public:
  /// Errors: invalid-model, where it cannot be read.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  /// Lets the pages of a range go: what was read once is not counted as this process's memory any longer.
  void forget(std::size_t offset, std::size_t size) const;

 private:
  MappedFile(std::string path, const std::byte* data, std::size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}
  std::string path_;
  const std::byte* data_;
  std::size_t size_;
};

}  // namespace touchstone
