// SPDX-License-Identifier: Apache-2.0
// An .onnx file, up to what the passes make of it.
#include "fuzz_file.h"
#include "graph/inputs.h"
#include "graph/onnx/onnx_io.h"
#include "graph/passes/cost.h"
#include "graph/passes/fuse.h"
#include "graph/passes/pack.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace touchstone;
  const FuzzFile file(data, size);
  const auto graph = read_onnx(file.path());
  if (graph) {
    infer_input_rules(*graph);
    pack_products(*graph);
    fuse(*graph);
    if (const auto cost = count_cost(*graph); !cost) {
      return 0;
    }
  }
  return 0;
}
