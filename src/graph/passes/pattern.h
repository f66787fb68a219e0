// SPDX-License-Identifier: Apache-2.0
// Who makes and who reads each value of a graph: what the passes that match patterns ask.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/types.h"

namespace touchstone {

/// An index of a graph's nodes; it points into the graph, which must stay as it is meanwhile.
class GraphIndex {
 public:
  explicit GraphIndex(const Graph& graph);

  /// The node of the default domain and this type that makes `value`, or null.
  const Node* made_by(const std::string& value, const char* op_type) const;
  const Node* maker(const std::string& value) const;
  /// Whether `value` is read by `nodes` alone, and is no output of the graph.
  bool only_read_by(const std::string& value, const std::set<const Node*>& nodes) const;

  /// The number that a float constant of one element holds, a scalar or a vector.
  std::optional<double> scalar(const std::string& value) const;
  /// The integers of a small constant.
  std::optional<std::vector<std::int64_t>> integers(const std::string& value) const;
  const Constant* constant(const std::string& value) const;

  /// Element type and shape, as far as known.
  DataType type(const std::string& value) const;
  std::optional<std::vector<Dimension>> shape(const std::string& value) const;
  std::optional<std::int64_t> rank(const std::string& value) const;
  /// The last dimension where it is a known number.
  std::optional<std::int64_t> width(const std::string& value) const;

  const Graph& graph() const { return graph_; }

 private:
  const ValueInfo* info(const std::string& value) const;

  const Graph& graph_;
  std::map<std::string, const Node*> makers_;
  std::map<std::string, std::set<const Node*>> readers_;
  std::map<std::string, const ValueInfo*> inputs_;
  std::set<std::string> outputs_;
};

/// Nodes that a match covers, and the one that takes their place.
struct Replacement {
  std::set<const Node*> covered;
  Node node;  // its only output is that of the last covered node
};

/// Whether nothing outside the match reads what it makes, but for the new node's output, nor the new node
/// itself.
bool is_closed(const GraphIndex& index, const Replacement& replacement);

/// The patterns of fuse.h, each rooted at its last node.
std::optional<Replacement> match_layer_normalization(const GraphIndex& index, const Node& root);
std::optional<Replacement> match_folded_layer_normalization(const GraphIndex& index, const Node& root);
std::optional<Replacement> match_gelu(const GraphIndex& index, const Node& root);
std::optional<Replacement> match_attention(const GraphIndex& index, const Node& root);

}  // namespace touchstone
