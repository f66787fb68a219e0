// SPDX-License-Identifier: Apache-2.0
// Floating-point operations and bytes moved, by node and in all.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/types.h"

namespace touchstone {

struct NodeCost {
  std::string node;
  std::string op_type;  // with its domain, where that is not ONNX's
  std::uint64_t flops = 0;
  std::uint64_t bytes = 0;
};

struct OperatorCost {
  std::uint64_t nodes = 0;
  std::uint64_t flops = 0;
  std::uint64_t bytes = 0;
};

struct Cost {
  std::vector<NodeCost> nodes;
  std::map<std::string, OperatorCost> by_operator;
  std::uint64_t flops = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> uncounted;  // nodes whose work depends on data: If, Loop, Scan
};

/// Counts a graph in which all shapes are concrete (make_concrete, infer_shapes). What is counted is the work
/// that the mathematics asks for, not what an engine happens to do. A multiply-add is two operations.
/// Exact: MatMul, Gemm, Conv, ConvTranspose, Einsum, attention, LSTM, GRU, RNN (2 × the multiply-adds of
/// their products), pooling, reductions. By elements: 1 an element for elementwise operators, 5 for Softmax
/// (max, subtract, exp, sum, divide), 7 for layer, group and instance normalization (mean, subtract, square,
/// sum, scale, gain, bias), 2 for batch normalization, 5 for Gelu (9 with tanh). Operators that only move
/// data count none. Bytes: every input and output once; a gather or slice reads what it hands on; views
/// (Reshape, …) move none. Errors: invalid-model, naming a node and a value whose shape is not known.
Result<Cost> count_cost(const Graph& graph);

}  // namespace touchstone
