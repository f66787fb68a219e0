// SPDX-License-Identifier: Apache-2.0
// Bundles of Hugging Face checkpoints: the graph is built from config.json, the weights are copied in.
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "built_bundle.h"
#include "bundles.h"
#include "checkpoint/checkpoint.h"
#include "source_note.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

Result<json> read_config(const fs::path& folder) {
  const std::string path = (folder / "config.json").string();
  const auto text = read_text_file(path);
  if (!text) {
    return fail(Reason::kInvalidModel,
                "{}: has no config.json: it is no checkpoint of Hugging Face transformers", folder.string());
  }
  json config = json::parse(*text, nullptr, false);
  if (!config.is_object()) {
    return fail(Reason::kInvalidModel, "{}: is not a JSON object", path);
  }
  return config;
}

Result<ZooEntry> entry_of(const fs::path& folder, const json& config) {
  const std::string path = (folder / "config.json").string();
  const auto type = config.find("model_type");
  const std::string word = type != config.end() && type->is_string() ? type->get<std::string>() : "";
  std::vector<std::string> known;
  for (const Family& family : families()) {
    if (family.from_config == nullptr) {
      continue;
    }
    if (family.name == word) {
      auto entry = family.from_config(folder.filename().string(), config);
      if (!entry) {
        return fail(entry.error().reason, "{}: {}", folder.string(), entry.error().message);
      }
      return entry;
    }
    known.push_back(family.name);
  }
  return fail(Reason::kUnsupported, "{}: 'model_type' is \"{}\"{}; built are: {}", path, word,
              did_you_mean(word, known), fmt::join(known, ", "));
}

// The names under which a weight may be stored: with the base model's prefix, or as converted from
// TensorFlow.
std::vector<std::string> stored_names(const std::string& weight, const std::set<std::string>& prefixes) {
  std::vector<std::string> names;
  for (const std::string& prefix : prefixes) {
    names.push_back(prefix + weight);
    if (weight.ends_with("LayerNorm.weight")) {
      names.push_back(prefix + weight.substr(0, weight.size() - 6) + "gamma");
    } else if (weight.ends_with("LayerNorm.bias")) {
      names.push_back(prefix + weight.substr(0, weight.size() - 4) + "beta");
    }
  }
  return names;
}

// What checkpoints hold beside the weights of the architecture they name: buffers, ties to other weights, and
// heads of the pretraining.
bool passed_over(const std::string& name, const ZooEntry& entry) {
  for (const char* end :
       {"position_ids", ".attn.bias", ".attn.masked_bias", ".attention.bias", "rotary_emb.inv_freq",
        "pos_emb.inv_freq", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias",
        "lm_head.decoder.weight", "lm_head.decoder.bias", "lm_head.weight"}) {
    if (name.ends_with(end)) {
      return true;
    }
  }
  if (name.find("cls.seq_relationship.") != std::string::npos ||
      name.find("pooler.dense.") != std::string::npos) {
    return true;
  }
  return std::any_of(entry.unread.begin(), entry.unread.end(),
                     [&](const auto& unread) { return name.ends_with(unread.first); });
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

// The shape in which a checkpoint keeps a weight.
std::vector<std::int64_t> shape_stored(const WeightSpec& weight) {
  if (!weight.stored_shape.empty()) {
    return weight.stored_shape;
  }
  std::vector<std::int64_t> shape = weight.shape;
  if (weight.transposed) {
    std::reverse(shape.begin(), shape.end());
  }
  return shape;
}

// Weight -> the tensor that fills it.
Result<std::map<std::string, TensorIndex::const_iterator>> match(const ZooEntry& entry,
                                                                 const TensorIndex& tensors,
                                                                 const fs::path& folder) {
  std::set<std::string> prefixes = {""};
  for (const auto& [name, tensor] : tensors) {
    if (const std::size_t dot = name.find('.'); dot != std::string::npos) {
      prefixes.insert(name.substr(0, dot + 1));
    }
  }
  std::map<std::string, TensorIndex::const_iterator> found;
  std::set<std::string> used;
  for (const WeightSpec& weight : entry.build(Form::kPrimitive).weights) {
    for (const std::string& name : stored_names(weight.name, prefixes)) {
      const auto tensor = tensors.find(name);
      if (tensor == tensors.end()) {
        continue;
      }
      if (tensor->second.shape != shape_stored(weight)) {
        return fail(Reason::kInvalidModel, "{}: tensor '{}' has the shape {}; config.json makes it {}",
                    tensor->second.file, name, shape_text(tensor->second.shape),
                    shape_text(shape_stored(weight)));
      }
      found.emplace(weight.name, tensor);
      used.insert(name);
      break;
    }
    if (!found.contains(weight.name)) {
      return fail(Reason::kInvalidModel, "{}: no tensor '{}', which the architecture of config.json needs",
                  folder.string(), weight.name);
    }
  }
  for (const auto& [name, tensor] : tensors) {
    if (!used.contains(name) && !passed_over(name, entry)) {
      return fail(Reason::kInvalidModel,
                  "{}: tensor '{}' belongs to nothing that config.json's architecture has", tensor.file,
                  name);
    }
  }
  return found;
}

Result<Bundle> make(const fs::path& folder, const std::string& graph, const fs::path& bundles) {
  SourceNote note(folder.string() + graph, bundles);
  note.add((folder / "config.json").string());
  TOUCHSTONE_ASSIGN(const json config, read_config(folder));
  TOUCHSTONE_ASSIGN(const ZooEntry whole, entry_of(folder, config));
  TOUCHSTONE_ASSIGN(const ZooEntry* chosen, graph_of(whole, graph));
  const ZooEntry& entry = *chosen;
  TOUCHSTONE_ASSIGN(const auto files, checkpoint_files(folder.string()));
  for (const std::string& file : files) {
    note.add(file);
  }
  TOUCHSTONE_ASSIGN(const TensorIndex tensors, read_checkpoint(folder.string()));
  TOUCHSTONE_ASSIGN(const auto matched, match(entry, tensors, folder));
  const auto copy = [&](const WeightSpec& weight, std::span<float> out) {
    const auto& [name, tensor] = *matched.at(weight.name);
    return copy_as_float(name, tensor, weight.transposed, out);
  };
  // Named by what the files looked like: another process that makes the same one makes the same bundle.
  std::string stamps = graph;
  for (const auto& [file, stamp] : note.files()) {
    stamps += fmt::format("|{}|{}|{}", file, stamp.size, stamp.time);
  }
  const std::string name = "checkpoint-" + sha256(fmt::format("v{}{}", kSourceVersion, stamps)).substr(0, 32);
  const TemporaryFolder place(bundles / name);
  TOUCHSTONE_TRY(place.create());
  TOUCHSTONE_ASSIGN(Bundle bundle, build_bundle(entry, copy, place));
  bundle.source = folder.string() + graph;
  TOUCHSTONE_ASSIGN(Bundle made, place.commit(bundle));
  TOUCHSTONE_TRY(note.write(name));
  return made;
}

}  // namespace

Result<Bundle> checkpoint_bundle(const ModelName& model, const fs::path& bundles) {
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(fs::absolute(model.base), error);
  if (auto bundle = SourceNote(folder.string() + model.graph, bundles).bundle()) {
    return std::move(*bundle);
  }
  return make(folder, model.graph, bundles);
}

}  // namespace touchstone
