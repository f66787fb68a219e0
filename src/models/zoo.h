// SPDX-License-Identifier: Apache-2.0
// The models that Touchstone can make by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/builder.h"

namespace touchstone {

struct ZooEntry {
  std::string name;
  std::string family;
  std::string description;
  std::optional<std::int64_t> max_sequence;
  ModelDefinition (*build)(const ZooEntry& entry, Form form);
};

/// Changes whenever the weights or graphs of the zoo do; part of the name under which a bundle is cached.
inline constexpr int kZooVersion = 2;

const std::vector<ZooEntry>& zoo();
const ZooEntry* find_in_zoo(const std::string& name);

}  // namespace touchstone
