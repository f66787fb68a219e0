// SPDX-License-Identifier: Apache-2.0
// Bundles of the zoo: weights are made in place in weights.bin.
#include "base/hash.h"
#include "bundles.h"
#include "describe.h"
#include "graph/onnx/onnx_io.h"
#include "weight_file.h"

namespace touchstone {
namespace {

constexpr std::uint64_t kSeed = 1;

// Gives every weight its place, makes it there, and hashes it while it is in the caches.
Result<void> make_weights(ModelDefinition& model, const std::string& path, Sha256& hash, Bundle& bundle) {
  std::size_t total = 0;
  for (const WeightSpec& weight : model.weights) {
    Constant constant;
    constant.type = DataType::kFloat;
    constant.shape = weight.shape;
    constant.file = "weights.bin";
    constant.offset = total;
    constant.size = byte_size(DataType::kFloat, element_count(weight.shape));
    bundle.parameters += element_count(weight.shape);
    total = aligned(total + constant.size);
    model.graph.initializers[weight.name] = std::move(constant);
  }
  TOUCHSTONE_ASSIGN(const WeightFile file, WeightFile::create(path, total));
  for (const WeightSpec& weight : model.weights) {
    const Constant& constant = model.graph.initializers[weight.name];
    const auto bytes = file.at(constant.offset, constant.size);
    generate_weights(weight, kSeed, {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)});
    hash.update(bytes);
  }
  bundle.weight_bytes = total;
  return {};
}

// The fused form shares the weights' places and what is known of the values that both have.
Graph fused_form(const ZooEntry& entry, const Graph& source) {
  ModelDefinition fused = entry.build(entry, Form::kFused);
  for (const WeightSpec& weight : fused.weights) {
    fused.graph.initializers[weight.name] = source.initializers.at(weight.name);
  }
  fused.graph.values = source.values;
  return std::move(fused.graph);
}

}  // namespace

Result<Bundle> zoo_bundle(const ZooEntry& entry, const std::filesystem::path& bundles) {
  const auto final_folder = bundles / fmt::format("zoo-{}-v{}", entry.name, kZooVersion);
  if (auto cached = read_bundle(final_folder.string())) {
    return cached;
  }
  const TemporaryFolder folder(final_folder);
  TOUCHSTONE_TRY(folder.create());
  ModelDefinition source = entry.build(entry, Form::kPrimitive);
  Bundle bundle = describe(source.graph);
  Sha256 hash;
  TOUCHSTONE_TRY(make_weights(source, folder.file("weights.bin"), hash, bundle));
  TOUCHSTONE_ASSIGN(const Graph graph, infer_shapes(std::move(source.graph)));
  const std::string text = to_json(graph).dump();
  hash.update(text);
  bundle.inputs = infer_input_rules(graph);
  bundle.name = entry.name;
  bundle.source = "zoo:" + entry.name;
  bundle.hash = hash.hex_digest();
  bundle.max_sequence = entry.max_sequence;
  bundle.forms["source"] = {"model-source.onnx", "graph-source.json"};
  bundle.forms["fused"] = {"", "graph-fused.json"};
  TOUCHSTONE_TRY(write_text_file(folder.file("graph-source.json"), text));
  TOUCHSTONE_TRY(write_text_file(folder.file("graph-fused.json"), to_json(fused_form(entry, graph)).dump()));
  TOUCHSTONE_TRY(write_onnx(graph, folder.file("model-source.onnx")));
  return folder.commit(bundle);
}

}  // namespace touchstone
