// SPDX-License-Identifier: Apache-2.0
// Drops what no output of the graph needs.
#pragma once

#include "graph/types.h"

namespace touchstone {

/// Removes the nodes, initializers and known values that no output depends on. Inputs stay, used or not: they
/// are the model's interface. What inner graphs (If, Loop, Scan) read from outside counts as used.
Graph remove_dead_nodes(Graph graph);

}  // namespace touchstone
