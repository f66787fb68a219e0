// SPDX-License-Identifier: Apache-2.0
// Between ONNX's messages and the graph's types; inside this folder only.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <filesystem>
#include <limits>

#include "base/result.h"
#include "graph/types.h"

namespace touchstone {

/// `folder` is where external data may lie. Errors: invalid-model, naming the tensor.
Result<Constant> constant_from(const onnx::TensorProto& tensor, const std::filesystem::path& folder);
/// Made dense. Errors: as above; unsupported where it is too large for that.
Result<Constant> constant_from(const onnx::SparseTensorProto& sparse, const std::filesystem::path& folder);
/// Moves the graph out: the message loses its tensors' data on the way, so that weights are never held twice.
Result<Graph> take_graph(onnx::GraphProto& proto, const std::filesystem::path& folder);
ValueInfo value_from(const onnx::ValueInfoProto& proto);

struct WriteOptions {
  std::filesystem::path folder;  // external locations are written relative to it
  /// Larger constants are declared external; without a file of theirs only shape inference can use the
  /// result.
  std::uint64_t largest_embedded = std::numeric_limits<std::uint64_t>::max();
  bool with_values = false;  // what is known of the values between the nodes
};

void fill(onnx::GraphProto& proto, const Graph& graph, const WriteOptions& options);
/// The whole model: format version, opsets, graph.
onnx::ModelProto model_from(const Graph& graph, const WriteOptions& options);

}  // namespace touchstone
