// SPDX-License-Identifier: Apache-2.0
// The reverse of fuse: composites spelt out in primitives, for engines that lack them.
#pragma once

#include "graph/types.h"

namespace touchstone {

/// Spells out LayerNormalization (of one output), Gelu (erf and tanh), ScaledDotProductAttention of domain
/// `touchstone`, and ONNX's Attention on tensors of rank 4 without a past, of equal heads, no causal mask and
/// no further outputs, in operators that the graph's opset has. What it cannot spell out (an axis counted
/// from the front of a value of unknown rank, the cases of Attention named) stays whole.
Graph expand(Graph graph);

}  // namespace touchstone
