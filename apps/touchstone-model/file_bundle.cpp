// SPDX-License-Identifier: Apache-2.0
// Bundles of a user's .onnx files.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>

#include "base/hash.h"
#include "bundles.h"
#include "describe.h"
#include "graph/onnx/onnx_io.h"
#include "graph/passes/fuse.h"
#include "graph/passes/limits.h"
#include "source_note.h"
#include "weight_file.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kInlineBytes = 1024;  // constants up to here are written into graph.json

Result<void> hash_file(const std::string& path, Sha256& hash) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(1 << 20);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || file.gcount() > 0) {
    hash.update(std::string_view(buffer.data(), static_cast<std::size_t>(file.gcount())));
  }
  if (file.bad()) {
    return fail(Reason::kInvalidModel, "{}: cannot be read to its end", path);
  }
  return {};
}

// Every constant of the graph, those in attributes and inner graphs too.
void collect(Graph& graph, std::vector<Constant*>& constants) {
  for (auto& [name, constant] : graph.initializers) {
    constants.push_back(&constant);
  }
  for (Node& node : graph.nodes) {
    for (auto& [key, attribute] : node.attributes) {
      if (auto* constant = std::get_if<Constant>(&attribute.value)) {
        constants.push_back(constant);
      } else if (auto* inner = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) {
        collect(**inner, constants);
      }
    }
  }
}

bool is_float(DataType type) {
  return type == DataType::kFloat || type == DataType::kDouble || type == DataType::kFloat16 ||
         type == DataType::kBfloat16;
}

// Embedded constants move to weights.bin, so that workers can map them; small ones stay in the graph's text.
Result<void> move_constants(const std::vector<Constant*>& constants, const std::string& path,
                            Bundle& bundle) {
  std::size_t total = 0;
  std::vector<std::pair<Constant*, std::size_t>> moved;
  for (Constant* constant : constants) {
    if (is_float(constant->type)) {
      bundle.parameters += element_count(constant->shape);
    }
    bundle.weight_bytes += constant->size;
    if (constant->owned && constant->size > kInlineBytes) {
      moved.emplace_back(constant, total);
      total = aligned(total + constant->size);
    }
  }
  TOUCHSTONE_ASSIGN(const WeightFile file, WeightFile::create(path, total));
  for (const auto& [constant, offset] : moved) {
    std::memcpy(file.at(offset, constant->size).data(), constant->owned->data(), constant->size);
    constant->owned.reset();
    constant->file = fs::path(path).filename().string();
    constant->offset = offset;
  }
  return {};
}

std::string text_of(const Graph& graph) {
  return to_json(graph).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::ptrdiff_t composites(const Graph& graph) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.op_type == "LayerNormalization" || node.op_type == "Gelu" || node.domain == "touchstone";
  });
}

// The form for engines that want composites whole, where there are primitives to raise.
Result<void> add_fused_form(const Graph& graph, const TemporaryFolder& folder, Bundle& bundle) {
  Graph fused = fuse(graph);
  if (composites(fused) == composites(graph)) {
    return {};
  }
  std::vector<Constant*> constants;
  collect(fused, constants);
  Bundle counted_already;
  TOUCHSTONE_TRY(move_constants(constants, folder.file("weights-fused.bin"), counted_already));
  TOUCHSTONE_TRY(write_text_file(folder.file("graph-fused.json"), text_of(fused)));
  bundle.forms["fused"] = {"", "graph-fused.json"};
  return {};
}

Result<Bundle> make(const fs::path& path, const fs::path& bundles) {
  // Stamps are taken before reading: a file that changes meanwhile is read again next time.
  SourceNote note(path, bundles);
  note.add(path.string());
  TOUCHSTONE_ASSIGN(Graph graph, read_onnx(path.string()));
  std::vector<Constant*> constants;
  collect(graph, constants);
  for (const Constant* constant : constants) {
    if (!constant->file.empty()) {
      note.add(constant->file);
    }
  }
  Sha256 hash;
  for (const auto& [file, stamp] : note.files()) {
    TOUCHSTONE_TRY(hash_file(file, hash));
  }
  Bundle bundle = describe(graph);
  bundle.name = path.stem().string();
  bundle.source = path.string();
  bundle.hash = hash.hex_digest();
  bundle.max_sequence = sequence_limit(graph);
  const std::string name =
      "file-" + sha256(fmt::format("v{}|{}|{}", kSourceVersion, path.string(), bundle.hash)).substr(0, 32);
  const TemporaryFolder folder(bundles / name);
  TOUCHSTONE_TRY(folder.create());
  TOUCHSTONE_TRY(move_constants(constants, folder.file("weights.bin"), bundle));
  TOUCHSTONE_TRY(write_text_file(folder.file("graph-source.json"), text_of(graph)));
  bundle.forms["source"] = {path.string(), "graph-source.json"};
  TOUCHSTONE_TRY(add_fused_form(graph, folder, bundle));
  TOUCHSTONE_ASSIGN(Bundle made, folder.commit(bundle));
  TOUCHSTONE_TRY(note.write(name));
  return made;
}

}  // namespace

Result<Bundle> file_bundle(const std::string& model, const fs::path& bundles) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(fs::absolute(model), error);
  if (!fs::exists(path, error)) {
    return fail(Reason::kInvalidModel, "{}: there is no such file", path.string());
  }
  if (auto bundle = SourceNote(path, bundles).bundle()) {
    return std::move(*bundle);
  }
  return make(path, bundles);
}

}  // namespace touchstone
