// SPDX-License-Identifier: Apache-2.0
// What bounds the lengths that a model can take.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/types.h"

namespace touchstone {

/// The longest sequence that the positions of an exported model allow: the extent of the shortest constant of
/// position numbers 0, 1, …, n - 1 (as exporters leave them, [n] or [1, n], n at least 8) that the graph
/// slices. Nothing where there is none.
std::optional<std::int64_t> sequence_limit(const Graph& graph);

}  // namespace touchstone
