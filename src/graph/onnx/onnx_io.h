// SPDX-License-Identifier: Apache-2.0
// ONNX in and out, checked and shape-inferred by ONNX's own library.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/result.h"
#include "graph/types.h"

namespace touchstone {

/// Reads an .onnx file of any IR version from 3 on. Initializers that are also inputs become initializers,
/// sparse ones dense; local functions are inlined; embedded tensors are owned, external ones point into their
/// files (never outside the model's folder), but for those up to 1 KiB, which are read. `values` holds what
/// ONNX's shape inference found, with symbolic dimensions; unnamed dimensions of inputs get names. Errors:
/// invalid-model or unsupported, naming file, node or tensor.
Result<Graph> read_onnx(const std::string& path);

/// A tensor in a file of its own (TensorProto), as ONNX's test data has them, and its name. No external data.
/// Errors: invalid-input, unsupported, naming the file.
Result<std::pair<std::string, Constant>> read_onnx_tensor(const std::string& path);

/// Writes `graph` as ONNX; constants that lie in a file become external data, whose location is given
/// relative to the folder of `path`. Checked with ONNX's checker afterwards. Errors: storage, internal.
Result<void> write_onnx(const Graph& graph, const std::string& path);

/// ONNX's shape inference with data propagation: fills `values`, and the shapes of `outputs` where they were
/// not known. Weights are not touched. Errors: invalid-model where shapes do not fit together.
Result<Graph> infer_shapes(Graph graph);

/// The graph for one choice of its symbolic dimensions: shapes inferred and shape arithmetic folded, in
/// turns, until nothing more is found. Values whose shape depends on data stay unknown. Errors:
/// invalid-input, naming a dimension without a value or below 1; invalid-model.
Result<Graph> make_concrete(Graph graph, const std::map<std::string, std::int64_t>& dimensions);

/// The graph in another version of the default operator set, by ONNX's version converter. Errors:
/// unsupported, with the converter's message.
Result<Graph> convert_opset(const Graph& graph, int opset);

}  // namespace touchstone
