// SPDX-License-Identifier: Apache-2.0
// Raises the primitives that exporters leave behind to the composites that a framework's users write.
#pragma once

#include "graph/types.h"

namespace touchstone {

/// Finds, in float32, LayerNormalization over the last axis (17), Gelu by erf and by tanh (20), and
/// attention, which becomes ScaledDotProductAttention(q, kᵀ, v[, mask]) of domain `touchstone` with the
/// attribute `scale`: softmax(q·kᵀ·scale + mask)·v. Constant nodes are folded, Identity and idle Dropout
/// dropped on the way. A pattern stays as it is where a value inside it is read from outside or is an output
/// of the graph, where its constants are not known, or where a shape that decides (`values`) is not known.
/// The new nodes mean what they say whatever the graph's opset is: the result is for lowerings, not for an
/// ONNX file. Constants were rounded to float32 in the primitives, so results agree to about 1e-7, not bit by
/// bit.
Graph fuse(Graph graph);

}  // namespace touchstone
