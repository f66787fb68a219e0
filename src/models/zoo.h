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
inline constexpr int kZooVersion = 3;

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
const ZooEntry* find_in_zoo(const std::string& name);

}  // namespace touchstone
