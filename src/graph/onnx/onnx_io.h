// SPDX-License-Identifier: Apache-2.0
// ONNX in and out, checked and shape-inferred by ONNX's own library.
#pragma once

#include <string>

#include "base/result.h"
#include "graph/types.h"

namespace touchstone {

/// Reads an .onnx file of any IR version from 3 on. Initializers that are also inputs become initializers;
/// local functions are inlined; embedded tensors are owned, external ones point into their files (never
/// outside the model's folder). `values` holds what ONNX's shape inference found, with symbolic dimensions;
/// unnamed dimensions of inputs get names. Errors: invalid-model, naming file, node or tensor.
Result<Graph> read_onnx(const std::string& path);

/// Writes `graph` as ONNX; constants that lie in a file become external data, whose location is given
/// relative to the folder of `path`. Checked with ONNX's checker before it is written. Errors: storage,
/// internal.
Result<void> write_onnx(const Graph& graph, const std::string& path);

}  // namespace touchstone
