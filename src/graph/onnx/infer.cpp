// SPDX-License-Identifier: Apache-2.0
// Shape inference and version conversion, with the weights left aside.
#include <onnx/defs/schema.h>
#include <onnx/shape_inference/implementation.h>
#include <onnx/version_converter/convert.h>

#include <algorithm>

#include "graph/inputs.h"
#include "graph/onnx/convert.h"
#include "graph/onnx/onnx_io.h"
#include "graph/passes/dead_nodes.h"
#include "graph/passes/fold.h"

namespace touchstone {
namespace {

// Shapes, axes and the like are below this; nothing larger changes a shape.
constexpr std::uint64_t kLookedInto = 64 * 1024;

bool known(const ValueInfo& value) {
  return value.type != DataType::kUndefined && value.shape &&
         std::all_of(value.shape->begin(), value.shape->end(),
                     [](const Dimension& d) { return d.value || !d.symbol.empty(); });
}

Result<onnx::ModelProto> inferred(const Graph& graph, bool trust_values) {
  WriteOptions options;
  options.largest_embedded = kLookedInto;
  options.with_values = trust_values;
  onnx::ModelProto model = model_from(graph, options);
  try {
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                       onnx::ShapeInferenceOptions(trust_values, 0, true));
  } catch (const std::exception& error) {
    return fail(Reason::kInvalidModel, "shapes do not fit together: {}", error.what());
  }
  return model;
}

}  // namespace

Result<Graph> infer_shapes(Graph graph) {
  auto model = inferred(graph, true);
  if (!model) {
    // What the file says of values between its nodes may be stale (engines ignore it); the nodes decide.
    model = inferred(graph, false);
    TOUCHSTONE_TRY(model);
    graph.values.clear();
  }
  for (const auto& proto : model->graph().value_info()) {
    graph.values.insert_or_assign(proto.name(), value_from(proto));
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (ValueInfo found = value_from(model->graph().output(static_cast<int>(i))); !known(graph.outputs[i])) {
      graph.outputs[i] = std::move(found);
    }
  }
  return graph;
}

Result<Graph> make_concrete(Graph graph, const std::map<std::string, std::int64_t>& dimensions) {
  constexpr int kMostTurns = 16;
  for (const auto& [name, value] : dimensions) {
    if (value < 1) {
      return fail(Reason::kInvalidInput, "dimension '{}' is {}; it must be 1 or more", name, value);
    }
  }
  for (ValueInfo& input : graph.inputs) {
    if (!input.shape) {
      continue;
    }
    TOUCHSTONE_ASSIGN(const std::vector<std::int64_t> shape, concrete_shape(*input.shape, dimensions));
    input.shape->clear();
    for (const std::int64_t extent : shape) {
      input.shape->push_back({extent, ""});
    }
  }
  std::size_t nodes = 0;
  for (int turn = 0; turn < kMostTurns && nodes != graph.nodes.size(); ++turn) {
    nodes = graph.nodes.size();
    graph.values.clear();  // names of unknown dimensions would stay beside the numbers found now
    for (ValueInfo& output : graph.outputs) {
      output.shape.reset();
    }
    TOUCHSTONE_ASSIGN(graph, infer_shapes(std::move(graph)));
    graph = remove_dead_nodes(fold_constants(std::move(graph)));
  }
  return graph;
}

Result<Graph> convert_opset(const Graph& graph, int opset) {
  // The converter copies all data several times: weights stand aside as inputs and come back afterwards.
  Graph lean = graph;
  std::erase_if(lean.initializers, [&](const auto& entry) {
    const auto& [name, constant] = entry;
    if (constant.type == DataType::kString || (constant.owned && constant.size <= kLookedInto)) {
      return false;
    }
    std::vector<Dimension> shape;
    for (const std::int64_t dimension : constant.shape) {
      shape.push_back({dimension, ""});
    }
    lean.inputs.push_back({name, constant.type, std::move(shape)});
    return true;
  });
  try {
    onnx::ModelProto model = onnx::version_conversion::ConvertVersion(model_from(lean, {}), opset);
    TOUCHSTONE_ASSIGN(Graph converted, take_graph(*model.mutable_graph(), {}));
    std::erase_if(converted.inputs,
                  [&](const ValueInfo& input) { return graph.initializers.contains(input.name); });
    for (const auto& [name, constant] : graph.initializers) {
      converted.initializers.insert_or_assign(name, constant);
    }
    converted.opsets = graph.opsets;
    converted.opsets[""] = opset;
    return infer_shapes(std::move(converted));
  } catch (const std::exception& error) {
    return fail(Reason::kUnsupported, "opset {} cannot be converted to {}: {}", graph.opset(), opset,
                error.what());
  }
}

}  // namespace touchstone
