// SPDX-License-Identifier: Apache-2.0
#include "built_bundle.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/hash.h"
#include "graph/onnx/onnx_io.h"
#include "graph/passes/pack.h"
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

// Writes the columns of the parts side by side.
Result<void> fill_packed(const PackedConstant& packed, const Graph& source, const TemporaryFolder& folder,
                         WeightMap& weights, std::span<std::byte> out) {
  const std::size_t rows = packed.shape.size() == 2 ? static_cast<std::size_t>(packed.shape[0]) : 1;
  const std::size_t stride = out.size() / rows;
  std::size_t column = 0;
  for (const std::string& name : packed.parts) {
    Constant part = source.initializers.at(name);
    part.file = part.owned ? "" : folder.file(part.file);
    TOUCHSTONE_ASSIGN(const auto bytes, weights.bytes(part));
    const std::size_t width = bytes.size() / rows;
    for (std::size_t row = 0; row < rows; ++row) {
      std::memcpy(out.data() + row * stride + column, bytes.data() + row * width, width);
    }
    column += width;
  }
  return {};
}

// Its packed weights lie in a file beside those that all forms share.
Result<void> add_packed_form(const Graph& source, const TemporaryFolder& folder, Bundle& bundle) {
  PackedGraph packed = pack_products(source);
  if (packed.constants.empty()) {
    return {};
  }
  const std::string file_name = "weights-packed.bin";
  std::size_t total = 0;
  for (const PackedConstant& made : packed.constants) {
    Constant& constant = packed.graph.initializers[made.name];
    constant.type = DataType::kFloat;
    constant.shape = made.shape;
    constant.file = file_name;
    constant.offset = total;
    constant.size = byte_size(DataType::kFloat, element_count(made.shape));
    total = aligned(total + constant.size);
  }
  // One constant at a time is in memory: beside the mapped weights, a mapping of these would be too much.
  std::ofstream file(folder.file(file_name), std::ios::binary | std::ios::trunc);
  WeightMap weights;
  for (const PackedConstant& made : packed.constants) {
    const Constant& constant = packed.graph.initializers.at(made.name);
    std::vector<std::byte> bytes(aligned(constant.size));
    TOUCHSTONE_TRY(fill_packed(made, source, folder, weights, std::span(bytes).first(constant.size)));
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  if (!file.flush()) {
    return fail(Reason::kStorage, "{}: {} bytes of weights cannot be written: {}", folder.file(file_name),
                total, strerror(errno));
  }
  TOUCHSTONE_ASSIGN(const Graph graph, infer_shapes(std::move(packed.graph)));
  bundle.forms["packed"] = {"model-packed.onnx", "graph-packed.json"};
  TOUCHSTONE_TRY(write_text_file(folder.file("graph-packed.json"), to_json(graph).dump()));
  return write_onnx(graph, folder.file("model-packed.onnx"));
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
  TOUCHSTONE_TRY(add_packed_form(graph, folder, bundle));
  return bundle;
}

}  // namespace touchstone
