// SPDX-License-Identifier: Apache-2.0
// Small graphs with the patterns of interest, and their values on the reference.
#pragma once

#include <string>
#include <vector>

#include "graph/types.h"
#include "models/builder.h"

namespace touchstone {

/// Writes a graph over x [batch, 3, 8] (or of another shape) in float32; the last node's value is the output
/// `y`.
class SmallGraph {
 public:
  explicit SmallGraph(int opset = 17, const std::vector<std::string>& shape = {"batch", "3", "8"});

  /// Adds a node; its value is named after a counter.
  std::string node(const std::string& op_type, std::vector<std::string> inputs,
                   std::map<std::string, Attribute> attributes = {});
  std::string input(const std::string& name, const std::vector<std::string>& shape);
  std::string scalar(float value);
  /// A constant vector of `size` different numbers near `mean`.
  std::string row(std::int64_t size, float mean);
  /// A constant matrix, likewise.
  std::string matrix(std::int64_t rows, std::int64_t columns, float mean);
  std::string mean(const std::string& value, std::int64_t axis = -1);
  void also_output(const std::string& value);
  /// Names the last value `y` and infers shapes.
  Graph finish() &&;

  /// LayerNormalization and Gelu of `x` as PyTorch's older exporters write them.
  std::string layer_norm(const std::string& x, std::int64_t axis = -1);
  std::string gelu(const std::string& x);

 private:
  Graph graph_;
  int count_ = 0;
};

std::size_t count(const Graph& graph, const std::string& op_type);

/// The largest difference between the outputs of two graphs on the same random inputs (batch 2, and every
/// other symbol 5), in double precision; float constants differ by rounding.
double difference(const Graph& a, const Graph& b);

}  // namespace touchstone
