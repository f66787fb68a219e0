// SPDX-License-Identifier: Apache-2.0
// SHA-256, for naming content: bundles, inputs, references, SDK files.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace touchstone {

class Sha256 {
 public:
  Sha256();
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  /// The digest in 64 lower-case hexadecimal digits. The object is spent afterwards.
  std::string hex_digest();

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
};

std::string sha256(std::string_view text);

}  // namespace touchstone
