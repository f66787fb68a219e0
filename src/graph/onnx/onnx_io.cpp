// SPDX-License-Identifier: Apache-2.0
#include "graph/onnx/onnx_io.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/inliner/inliner.h>
#include <onnx/shape_inference/implementation.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "graph/onnx/convert.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

Result<onnx::ModelProto> parse(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    return fail(Reason::kInvalidModel, "{}: is a folder; expected an .onnx file", path);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fail(Reason::kInvalidModel, "{}: cannot be read: {}", path, strerror(errno));
  }
  if (fs::file_size(path, error) == 0) {
    return fail(Reason::kInvalidModel, "{}: is empty; expected an ONNX model", path);
  }
  google::protobuf::io::IstreamInputStream stream(&file);
  google::protobuf::io::CodedInputStream coded(&stream);
  onnx::ModelProto model;
  if (!model.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
    return fail(Reason::kInvalidModel,
                "{}: is not ONNX, or is truncated; check that the file was copied whole", path);
  }
  if (!model.has_graph() || model.ir_version() == 0) {
    return fail(Reason::kInvalidModel, "{}: is not an ONNX model (no graph or no format version in it)",
                path);
  }
  if (model.ir_version() < 3) {
    return fail(Reason::kInvalidModel,
                "{}: is of ONNX format version {}; 3 is the oldest that Touchstone reads", path,
                model.ir_version());
  }
  return model;
}

// An operator set newer than the library knows cannot be judged; the message names both.
Result<void> check_opsets(const onnx::ModelProto& model, const std::string& path) {
  const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  for (const auto& opset : model.opset_import()) {
    const auto range = known.find(opset.domain() == "ai.onnx" ? "" : opset.domain());
    if (range != known.end() && opset.version() > range->second.second) {
      return fail(Reason::kInvalidModel, "{}: wants opset {} of domain '{}'; the newest known here is {}",
                  path, opset.version(), opset.domain(), range->second.second);
    }
  }
  return {};
}

// Shape inference needs every input dimension to have a name, or the engine's and ours could not be told
// apart.
void name_dimensions(onnx::GraphProto& graph) {
  std::set<std::string> initializers;
  for (const auto& tensor : graph.initializer()) {
    initializers.insert(tensor.name());
  }
  for (auto& input : *graph.mutable_input()) {
    if (initializers.contains(input.name()) || !input.type().has_tensor_type()) {
      continue;
    }
    int index = 0;
    for (auto& dimension : *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      const bool negative = dimension.has_dim_value() && dimension.dim_value() < 0;
      if (negative || (!dimension.has_dim_value() && dimension.dim_param().empty())) {
        dimension.set_dim_param(input.name() + "_" + std::to_string(index));
      }
      ++index;
    }
  }
}

Result<void> check(const onnx::ModelProto& model, const std::string& path) {
  try {
    // With external data only the check by path can find the files; it does not hold the model twice.
    onnx::checker::check_model(path);
  } catch (const std::exception& error) {
    return fail(Reason::kInvalidModel, "{}: ONNX's checker refuses it: {}", path, error.what());
  }
  for (const auto& input : model.graph().input()) {
    if (!input.type().has_tensor_type()) {
      return fail(Reason::kUnsupported, "{}: input '{}' is not a tensor (a sequence, map or optional)", path,
                  input.name());
    }
  }
  return {};
}

}  // namespace

Result<Graph> read_onnx(const std::string& path) {
  TOUCHSTONE_ASSIGN(onnx::ModelProto model, parse(path));
  TOUCHSTONE_TRY(check_opsets(model, path));
  const fs::path folder = fs::absolute(path).parent_path();
  // Read once before the checker: our message about external data is the better one.
  auto early = graph_from(model.graph(), folder);
  if (!early) {
    return fail(early.error().reason, "{}: {}", path, early.error().message);
  }
  TOUCHSTONE_TRY(check(model, path));
  name_dimensions(*model.mutable_graph());
  try {
    if (model.functions_size() > 0) {
      onnx::inliner::InlineLocalFunctions(model);
    }
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(true, 0, true));
  } catch (const std::exception& error) {
    return fail(Reason::kInvalidModel, "{}: shapes do not fit together: {}", path, error.what());
  }
  TOUCHSTONE_ASSIGN(Graph graph, graph_from(model.graph(), folder));
  for (const auto& opset : model.opset_import()) {
    graph.opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] = static_cast<int>(opset.version());
  }
  return graph;
}

Result<void> write_onnx(const Graph& graph, const std::string& path) {
  onnx::ModelProto model;
  model.set_ir_version(9);
  model.set_producer_name("touchstone");
  for (const auto& [domain, version] : graph.opsets) {
    auto* opset = model.add_opset_import();
    opset->set_domain(domain);
    opset->set_version(version);
  }
  fill(*model.mutable_graph(), graph, fs::absolute(path).parent_path());
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
