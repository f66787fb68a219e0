// SPDX-License-Identifier: Apache-2.0
// One matrix product in place of several of the same value: query, key and value at once.
#pragma once

#include <string>
#include <vector>

#include "graph/types.h"

namespace touchstone {

/// What stands in place of `parts`, float32 constants of the graph before: their columns side by side.
struct PackedConstant {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<std::string> parts;
};

/// A graph that names the packed constants; its caller makes their data and adds them to its initializers.
struct PackedGraph {
  Graph graph;
  std::vector<PackedConstant> constants;
};

/// x·A, x·B, x·C with constant matrices become a Split of x·[A B C]. Biases that are added to all of them are
/// packed as well. `constants` is empty where nothing was found. Needs opset 13 (Split with its lengths as an
/// input).
PackedGraph pack_products(Graph graph);

}  // namespace touchstone
