// SPDX-License-Identifier: Apache-2.0
// The models that Touchstone can make by name, and the architectures behind them.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "models/builder.h"

namespace touchstone {

/// A model that can be built in any form. Its weights are generated, or a checkpoint's.
struct ZooEntry {
  std::string name;
  std::string description;
  std::optional<std::int64_t> max_sequence;    // positions; none where the architecture sets no limit
  std::map<std::string, std::int64_t> stated;  // the shape at which its FLOPs are told
  std::function<ModelDefinition(Form)> build;
  /// Parameters that checkpoints hold and inference never reads, by name; counted, not built.
  std::map<std::string, std::int64_t> unread = {};
  /// The graphs `NAME:prefill` and `NAME:decode` of a decoder that can generate, with the same weights
  /// (decoder_phase.h).
  std::vector<ZooEntry> generation = {};
};

/// One architecture, in one file of families/.
struct Family {
  std::string name;  // Hugging Face's model_type where it has one
  std::vector<ZooEntry> entries;
  /// The model that a config.json of this model_type describes; null where there are no such checkpoints.
  /// Errors: invalid-model, naming the field; unsupported, naming what is not built.
  Result<ZooEntry> (*from_config)(const std::string& name, const nlohmann::json& config) = nullptr;
};

/// Changes whenever the weights or graphs of the zoo do; part of the name under which a bundle is cached.
inline constexpr int kZooVersion = 4;

const std::vector<Family>& families();
/// All entries of all families, with their family.
struct ZooModel {
  const Family* family;
  const ZooEntry* entry;
};
const std::vector<ZooModel>& zoo();
struct WeightCount {
  std::uint64_t parameters = 0;  // those that a published count counts: without buffers, with unread ones
  std::uint64_t bytes = 0;       // of all weights that are built
};
WeightCount count_weights(const ZooEntry& entry);
/// Null where there is none; `NAME:prefill` and `NAME:decode` are found too.
const ZooEntry* find_in_zoo(const std::string& name);

/// `gpt2:decode` is the graph ":decode" of `gpt2`; `graph` is empty where the name ends in no such word.
struct ModelName {
  std::string base, graph;
};
ModelName parse_model_name(const std::string& text);
/// The entry itself, or its graph of generation. Errors: unsupported, where it has none.
Result<const ZooEntry*> graph_of(const ZooEntry& entry, const std::string& graph);

}  // namespace touchstone
