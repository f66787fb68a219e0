// SPDX-License-Identifier: Apache-2.0
// torch.save's archive: as a file, and its pickle alone, which a checksum would keep most changes from.
#include "checkpoint/checkpoint.h"
#include "checkpoint/pickle.h"
#include "fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace touchstone;
  const auto pickled = read_pickled_tensors(std::as_bytes(std::span(data, size)));
  if (pickled && pickled->size() > size) {
    std::abort();  // more tensors than bytes
  }
  const FuzzFile file(data, size);
  if (const auto index = read_pytorch(file.path())) {
    for (const auto& [name, tensor] : *index) {
      const auto read = tensor.read([](std::span<const std::byte>) -> Result<void> { return {}; });
    }
  }
  return 0;
}
