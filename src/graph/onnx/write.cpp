// SPDX-License-Identifier: Apache-2.0
#include <onnx/checker.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "graph/onnx/convert.h"
#include "graph/onnx/onnx_io.h"

namespace touchstone {
namespace {

// The oldest format that may hold an opset, so that old engines read what they can (ONNX,
// docs/Versioning.md).
int format_version(const Graph& graph) {
  const int opset = graph.opset();
  return opset <= 20 ? 9 : opset <= 22 ? 10 : opset - 12;
}

}  // namespace

onnx::ModelProto model_from(const Graph& graph, const WriteOptions& options) {
  onnx::ModelProto model;
  model.set_ir_version(format_version(graph));
  model.set_producer_name("touchstone");
  for (const auto& [domain, version] : graph.opsets) {
    auto* opset = model.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
  }
  fill(*model.mutable_graph(), graph, options);
  return model;
}

Result<void> write_onnx(const Graph& graph, const std::string& path) {
  WriteOptions options;
  options.folder = std::filesystem::absolute(path).parent_path();
  options.with_values = true;  // engines that fuse by shape find more with them
  const onnx::ModelProto model = model_from(graph, options);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!model.SerializeToOstream(&file) || !file.flush()) {
    return fail(Reason::kStorage, "{}: cannot be written: {}", path, strerror(errno));
  }
  try {
    onnx::checker::check_model(path);
  } catch (const std::exception& error) {
    return fail(Reason::kInternal, "{}: ONNX's checker refuses what was written: {}", path, error.what());
  }
  return {};
}

}  // namespace touchstone
