// SPDX-License-Identifier: Apache-2.0
// Between ONNX's messages and the graph's types; used by onnx_read.cpp and onnx_write.cpp only.
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>

#include "base/result.h"
#include "graph/types.h"

namespace touchstone {

/// `folder` is where external data may lie.
Result<Constant> constant_from(const onnx::TensorProto& tensor, const std::filesystem::path& folder);
Result<Graph> graph_from(const onnx::GraphProto& proto, const std::filesystem::path& folder);
ValueInfo value_from(const onnx::ValueInfoProto& proto);

/// External locations are written relative to `folder`.
void fill(onnx::GraphProto& proto, const Graph& graph, const std::filesystem::path& folder);

}  // namespace touchstone
