// SPDX-License-Identifier: Apache-2.0
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/stubs/logging.h>
#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/inliner/inliner.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>

#include "graph/onnx/convert.h"
#include "graph/onnx/onnx_io.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

std::string domain_of(const std::string& domain) {
  return domain == "ai.onnx" ? "" : domain;
}

Result<std::ifstream> open(const std::string& path) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    return fail(Reason::kInvalidModel, "{}: is not a file; expected an .onnx file", path);
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fail(Reason::kInvalidModel, "{}: cannot be read: {}", path, strerror(errno));
  }
  if (fs::file_size(path, error) == 0) {
    return fail(Reason::kInvalidModel, "{}: is empty; expected an ONNX model", path);
  }
  return file;
}

Result<onnx::ModelProto> parse(const std::string& path) {
  TOUCHSTONE_ASSIGN(std::ifstream file, open(path));
  google::protobuf::io::IstreamInputStream stream(&file);
  google::protobuf::io::CodedInputStream coded(&stream);
  onnx::ModelProto model;
  const bool whole = model.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
  if (!whole && model.ir_version() > 0 && model.ir_version() < 1000) {
    return fail(Reason::kInvalidModel, "{}: is ONNX but cannot be read to its end; is it truncated?", path);
  }
  if (!whole || !model.has_graph() || model.ir_version() <= 0) {
    return fail(Reason::kInvalidModel, "{}: is not ONNX; expected a model as exporters write it (.onnx)",
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
    const auto range = known.find(domain_of(opset.domain()));
    if (range == known.end()) {
      continue;
    }
    if (opset.version() < 1 || opset.version() > range->second.second) {
      return fail(Reason::kInvalidModel,
                  "{}: wants opset {} of domain '{}'; known here are 1 to {}. Export it for an opset in that "
                  "range",
                  path, opset.version(), opset.domain(), range->second.second);
    }
  }
  return {};
}

// Operators of ONNX's own domain that its opset does not have; those of other domains only engines can judge.
Result<void> check_operators(const onnx::ModelProto& model, const std::string& path) {
  std::set<std::string> functions;
  for (const auto& function : model.functions()) {
    functions.insert(domain_of(function.domain()) + "." + function.name());
  }
  int version = 1;
  for (const auto& opset : model.opset_import()) {
    version = domain_of(opset.domain()).empty() ? static_cast<int>(opset.version()) : version;
  }
  for (const auto& node : model.graph().node()) {
    if (!domain_of(node.domain()).empty() || functions.contains("." + node.op_type())) {
      continue;
    }
    if (onnx::OpSchemaRegistry::Schema(node.op_type(), version, "") == nullptr) {
      return fail(Reason::kInvalidModel, "{}: node '{}': ONNX's opset {} has no operator '{}'", path,
                  node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name(), version,
                  node.op_type());
    }
  }
  return {};
}

// Names every dimension of the inputs: without a name nobody could ask for its value.
Result<void> name_dimensions(const std::string& path, Graph& graph) {
  for (ValueInfo& input : graph.inputs) {
    if (input.type == DataType::kUndefined) {
      return fail(Reason::kUnsupported,
                  "{}: input '{}' is not a tensor (a sequence, map or optional); only tensors can be made up",
                  path, input.name);
    }
    if (!input.shape) {
      return fail(Reason::kUnsupported,
                  "{}: input '{}' does not say how many dimensions it has; export the model with shapes",
                  path, input.name);
    }
    for (std::size_t i = 0; i < input.shape->size(); ++i) {
      Dimension& dimension = (*input.shape)[i];
      if ((dimension.value && *dimension.value < 0) || (!dimension.value && dimension.symbol.empty())) {
        dimension = {std::nullopt, fmt::format("{}_{}", input.name, i)};
      }
    }
  }
  return {};
}

// What ONNX's checker has against the file. By path: only so can it find external data.
std::optional<std::string> checker_objection(const std::string& path) {
  try {
    onnx::checker::check_model(path);
  } catch (const std::exception& error) {
    return error.what();
  }
  return std::nullopt;
}

Result<Graph> take_model(onnx::ModelProto& model, const std::string& path) {
  try {
    if (model.functions_size() > 0) {
      onnx::inliner::InlineLocalFunctions(model);
    }
  } catch (const std::exception& error) {
    return fail(Reason::kInvalidModel, "{}: its functions cannot be inlined: {}", path, error.what());
  }
  auto graph = take_graph(*model.mutable_graph(), fs::absolute(path).parent_path());
  if (!graph) {
    return fail(graph.error().reason, "{}: {}", path, graph.error().message);
  }
  for (const auto& opset : model.opset_import()) {
    graph->opsets[domain_of(opset.domain())] = static_cast<int>(opset.version());
  }
  return graph;
}

}  // namespace

Result<Graph> read_onnx(const std::string& path) {
  TOUCHSTONE_TRY(open(path));
  const google::protobuf::LogSilencer quiet;  // what the parser has to say is in our own messages
  // The checker reads the file for itself. It goes first, so that the model is never in memory twice; its
  // words come last, because ours about data files and operators say more.
  const auto objection = checker_objection(path);
  TOUCHSTONE_ASSIGN(onnx::ModelProto model, parse(path));
  TOUCHSTONE_TRY(check_opsets(model, path));
  TOUCHSTONE_TRY(check_operators(model, path));
  TOUCHSTONE_ASSIGN(Graph graph, take_model(model, path));
  if (objection) {
    return fail(Reason::kInvalidModel, "{}: ONNX's checker refuses it: {}", path, *objection);
  }
  model.Clear();
  TOUCHSTONE_TRY(name_dimensions(path, graph));
  auto inferred = infer_shapes(std::move(graph));
  if (!inferred) {
    return fail(inferred.error().reason, "{}: {}", path, inferred.error().message);
  }
  return inferred;
}

Result<std::pair<std::string, Constant>> read_onnx_tensor(const std::string& path) {
  const google::protobuf::LogSilencer quiet;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return fail(Reason::kInvalidInput, "{}: cannot be read: {}", path, strerror(errno));
  }
  google::protobuf::io::IstreamInputStream stream(&file);
  google::protobuf::io::CodedInputStream coded(&stream);
  onnx::TensorProto tensor;
  if (!tensor.ParseFromCodedStream(&coded) || !coded.ConsumedEntireMessage()) {
    return fail(Reason::kInvalidInput, "{}: cannot be read as a tensor of ONNX (TensorProto)", path);
  }
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    return fail(Reason::kUnsupported, "{}: keeps its data in another file, which test data does not do",
                path);
  }
  auto constant = constant_from(tensor, {});
  if (!constant || constant->type == DataType::kString) {
    return fail(constant ? Reason::kUnsupported : Reason::kInvalidInput, "{}: {}", path,
                constant ? "holds strings, which are not read" : constant.error().message);
  }
  return std::pair(tensor.name(), std::move(*constant));
}

}  // namespace touchstone
