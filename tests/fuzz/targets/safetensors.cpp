// SPDX-License-Identifier: Apache-2.0
// A safetensors file, every tensor of it read.
#include "checkpoint/checkpoint.h"
#include "fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace touchstone;
  const FuzzFile file(data, size);
  if (const auto index = read_safetensors(file.path())) {
    for (const auto& [name, tensor] : *index) {
      std::uint64_t sum = 0;
      const auto read = tensor.read([&](std::span<const std::byte> bytes) -> Result<void> {
        for (const std::byte byte : bytes) {
          sum += static_cast<std::uint64_t>(byte);
        }
        return {};
      });
      asm volatile("" : : "r"(sum) : "memory");
    }
  }
  return 0;
}
