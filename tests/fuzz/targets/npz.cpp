// SPDX-License-Identifier: Apache-2.0
// Arrays of numpy: one by itself, and an archive of them.
#include "datasets/npz.h"

#include "fuzz_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace touchstone;
  const auto array = parse_npy("fuzz", std::as_bytes(std::span(data, size)));
  if (array && array->bytes.size() > size) {
    std::abort();  // more data than the file has
  }
  const FuzzFile file(data, size);
  const auto arrays = read_arrays(file.path());
  return 0;
}
