// SPDX-License-Identifier: Apache-2.0
// The operation counts behind count_cost, operator by operator.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/types.h"

namespace touchstone {

using Shape = std::vector<std::int64_t>;

/// Operations of one node. An omitted input has the shape {0}. Shapes that do not fit the operator give 0.
std::uint64_t flops_of(const Node& node, const std::vector<Shape>& inputs, const std::vector<Shape>& outputs);

}  // namespace touchstone
