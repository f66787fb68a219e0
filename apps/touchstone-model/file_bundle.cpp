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
#include "weight_file.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::size_t kInlineBytes = 1024;  // constants up to here are written into graph.json
// Changes whenever the same file would give another bundle.
constexpr int kFileVersion = 3;

struct Stamp {
  std::uint64_t size = 0;
  std::int64_t time = 0;
  bool operator==(const Stamp&) const = default;
};

Stamp stamp_of(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  const auto time = fs::last_write_time(file, error);
  return error ? Stamp{} : Stamp{size, time.time_since_epoch().count()};
}

// A note from the file's place to its bundle's folder, with the stamps of all files that went into it.
fs::path note_of(const fs::path& model, const fs::path& bundles) {
  return bundles / "by-file" /
         (sha256(fmt::format("v{}|{}", kFileVersion, model.string())).substr(0, 32) + ".json");
}

std::optional<Bundle> cached(const fs::path& model, const fs::path& bundles) {
  const auto text = read_text_file(note_of(model, bundles).string());
  const auto note = json::parse(text ? *text : "", nullptr, false);
  if (!note.is_object()) {
    return std::nullopt;
  }
  try {
    for (const auto& [file, stamp] : note.at("files").items()) {
      if (stamp_of(file) != Stamp{stamp.at(0).get<std::uint64_t>(), stamp.at(1).get<std::int64_t>()}) {
        return std::nullopt;
      }
    }
    auto bundle = read_bundle((bundles / note.at("folder").get<std::string>()).string());
    return bundle ? std::optional(std::move(*bundle)) : std::nullopt;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

Result<void> remember(const fs::path& model, const fs::path& bundles,
                      const std::map<std::string, Stamp>& files, const std::string& folder) {
  json stamps = json::object();
  for (const auto& [file, stamp] : files) {
    stamps[file] = {stamp.size, stamp.time};
  }
  std::error_code error;
  fs::create_directories(bundles / "by-file", error);
  const std::string note = note_of(model, bundles).string();
  const std::string partial = fmt::format("{}.partial-{}", note, getpid());
  TOUCHSTONE_TRY(write_text_file(partial, json{{"folder", folder}, {"files", stamps}}.dump()));
  fs::rename(partial, note, error);
  if (error) {
    return fail(Reason::kStorage, "{}: cannot be moved into place: {}", note, error.message());
  }
  return {};
}

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
  std::map<std::string, Stamp> files = {{path.string(), stamp_of(path)}};
  TOUCHSTONE_ASSIGN(Graph graph, read_onnx(path.string()));
  std::vector<Constant*> constants;
  collect(graph, constants);
  for (const Constant* constant : constants) {
    if (!constant->file.empty()) {
      files.emplace(constant->file, stamp_of(constant->file));
    }
  }
  Sha256 hash;
  for (const auto& [file, stamp] : files) {
    TOUCHSTONE_TRY(hash_file(file, hash));
  }
  Bundle bundle = describe(graph);
  bundle.name = path.stem().string();
  bundle.source = path.string();
  bundle.hash = hash.hex_digest();
  bundle.max_sequence = sequence_limit(graph);
  const std::string name =
      "file-" + sha256(fmt::format("v{}|{}|{}", kFileVersion, path.string(), bundle.hash)).substr(0, 32);
  const TemporaryFolder folder(bundles / name);
  TOUCHSTONE_TRY(folder.create());
  TOUCHSTONE_TRY(move_constants(constants, folder.file("weights.bin"), bundle));
  TOUCHSTONE_TRY(write_text_file(folder.file("graph-source.json"), text_of(graph)));
  bundle.forms["source"] = {path.string(), "graph-source.json"};
  TOUCHSTONE_TRY(add_fused_form(graph, folder, bundle));
  TOUCHSTONE_ASSIGN(Bundle made, folder.commit(bundle));
  TOUCHSTONE_TRY(remember(path, bundles, files, name));
  return made;
}

}  // namespace

Result<Bundle> file_bundle(const std::string& model, const fs::path& bundles) {
  std::error_code error;
  const fs::path path = fs::weakly_canonical(fs::absolute(model), error);
  if (!fs::exists(path, error)) {
    return fail(Reason::kInvalidModel, "{}: there is no such file", path.string());
  }
  if (auto bundle = cached(path, bundles)) {
    return std::move(*bundle);
  }
  return make(path, bundles);
}

}  // namespace touchstone
