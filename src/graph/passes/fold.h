// SPDX-License-Identifier: Apache-2.0
// Constant folding of shape arithmetic and small constants.
#pragma once

#include "graph/types.h"

namespace touchstone {

/// Replaces nodes whose result is known by initializers: Constant nodes of any size, Shape and Size where
/// `values` or `inputs` know the dimensions, and the integer, float and shape operators between small
/// constants (at most 65,536 elements). Results are exact: integers wrap in their type, floats are rounded as
/// one operation each. Nodes that name an output of the graph stay. Operators that it does not know stay as
/// well.
Graph fold_constants(Graph graph);

}  // namespace touchstone
