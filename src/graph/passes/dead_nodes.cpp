// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/dead_nodes.h"

#include <algorithm>
#include <set>

namespace touchstone {
namespace {

using Names = std::set<std::string>;

void add_inner_reads(const Graph& graph, Names& names);

void add_reads(const Node& node, Names& names) {
  names.insert(node.inputs.begin(), node.inputs.end());
  for (const auto& [key, attribute] : node.attributes) {
    if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&attribute.value)) {
      add_inner_reads(**inner, names);
    }
  }
}

// Names defined inside are counted too; that can only keep too much, and only where names repeat.
void add_inner_reads(const Graph& graph, Names& names) {
  for (const Node& node : graph.nodes) {
    add_reads(node, names);
  }
  for (const ValueInfo& output : graph.outputs) {
    names.insert(output.name);
  }
}

}  // namespace

Graph remove_dead_nodes(Graph graph) {
  Names needed;
  for (const ValueInfo& output : graph.outputs) {
    needed.insert(output.name);
  }
  std::vector<Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    const bool is_needed = std::any_of(node->outputs.begin(), node->outputs.end(),
                                       [&](const auto& name) { return needed.contains(name); });
    if (is_needed) {
      add_reads(*node, needed);
      needed.insert(node->outputs.begin(), node->outputs.end());
      kept.push_back(std::move(*node));
    }
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  std::erase_if(graph.initializers, [&](const auto& entry) { return !needed.contains(entry.first); });
  std::erase_if(graph.values, [&](const auto& entry) { return !needed.contains(entry.first); });
  return graph;
}

}  // namespace touchstone
