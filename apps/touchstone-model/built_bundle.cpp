// SPDX-License-Identifier: Apache-2.0
#include "built_bundle.h"

#include "base/hash.h"
#include "graph/onnx/onnx_io.h"
#include "weight_file.h"

namespace touchstone {
namespace {

// Gives every weight its place, makes it there, and hashes it while it is in the caches.
Result<void> make_weights(ModelDefinition& model, const std::string& path, const FillWeight& fill,
                          Sha256& hash, Bundle& bundle) {
  std::size_t total = 0;
  for (const WeightSpec& weight : model.weights) {
    Constant constant;
    constant.type = DataType::kFloat;
    constant.shape = weight.shape;
    constant.file = "weights.bin";
    constant.offset = total;
    constant.size = byte_size(DataType::kFloat, element_count(weight.shape));
    total = aligned(total + constant.size);
    model.graph.initializers[weight.name] = std::move(constant);
  }
  TOUCHSTONE_ASSIGN(const WeightFile file, WeightFile::create(path, total));
  for (const WeightSpec& weight : model.weights) {
    const Constant& constant = model.graph.initializers[weight.name];
    const auto bytes = file.at(constant.offset, constant.size);
    TOUCHSTONE_TRY(fill(weight, {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)}));
    hash.update(bytes);
  }
  bundle.weight_bytes = total;
  return {};
}

// The fused form shares the weights' places and what is known of the values that both have.
Graph fused_form(const ZooEntry& entry, const Graph& source) {
  ModelDefinition fused = entry.build(Form::kFused);
  for (const WeightSpec& weight : fused.weights) {
    fused.graph.initializers[weight.name] = source.initializers.at(weight.name);
  }
  fused.graph.values = source.values;
  return std::move(fused.graph);
}

}  // namespace

Result<Bundle> build_bundle(const ZooEntry& entry, const FillWeight& fill, const TemporaryFolder& folder) {
  ModelDefinition source = entry.build(Form::kPrimitive);
  Bundle bundle = describe(source.graph);
  Sha256 hash;
  TOUCHSTONE_TRY(make_weights(source, folder.file("weights.bin"), fill, hash, bundle));
  TOUCHSTONE_ASSIGN(const Graph graph, infer_shapes(std::move(source.graph)));
  const std::string text = to_json(graph).dump();
  hash.update(text);
  bundle.inputs = infer_input_rules(graph);
  for (InputRule& rule : bundle.inputs) {
    if (const auto limit = source.drawn_below.find(rule.name); limit != source.drawn_below.end()) {
      rule.high = static_cast<double>(limit->second);
      rule.why = fmt::format("{} words", limit->second);
    }
  }
  bundle.parameters = count_weights(entry).parameters;
  bundle.name = entry.name;
  bundle.hash = hash.hex_digest();
  bundle.max_sequence = entry.max_sequence;
  bundle.forms["source"] = {"model-source.onnx", "graph-source.json"};
  bundle.forms["fused"] = {"", "graph-fused.json"};
  TOUCHSTONE_TRY(write_text_file(folder.file("graph-source.json"), text));
  TOUCHSTONE_TRY(write_text_file(folder.file("graph-fused.json"), to_json(fused_form(entry, graph)).dump()));
  TOUCHSTONE_TRY(write_onnx(graph, folder.file("model-source.onnx")));
  return bundle;
}

}  // namespace touchstone
