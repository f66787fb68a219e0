// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/fuse.h"

#include <algorithm>

#include "graph/passes/dead_nodes.h"
#include "graph/passes/fold.h"
#include "graph/passes/pattern.h"

namespace touchstone {
namespace {

// Whether the node hands its first input on. Dropout does so at inference, where nobody asks for its mask.
bool is_idle(const Node& node, const GraphIndex& index) {
  if (!node.domain.empty() || (node.op_type != "Identity" && node.op_type != "Dropout")) {
    return false;
  }
  const bool trains = node.inputs.size() > 2 && !node.inputs[2].empty();
  const bool masked = node.outputs.size() > 1 && !index.only_read_by(node.outputs[1], {});
  return !trains && !masked;
}

bool has_inner_graph(const Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [](const auto& attribute) {
    return std::holds_alternative<std::shared_ptr<Graph>>(attribute.second.value);
  });
}

// Reads what idle nodes read instead of what they make. Graphs with inner graphs keep theirs: names inside
// could mean either.
Graph bypass_idle_nodes(Graph graph) {
  if (std::any_of(graph.nodes.begin(), graph.nodes.end(), has_inner_graph)) {
    return graph;
  }
  std::map<std::string, std::string> sources;
  {
    const GraphIndex index(graph);
    for (const Node& node : graph.nodes) {
      if (is_idle(node, index)) {
        const auto further = sources.find(node.inputs[0]);
        sources[node.outputs[0]] = further == sources.end() ? node.inputs[0] : further->second;
      }
    }
  }
  for (Node& node : graph.nodes) {
    for (std::string& input : node.inputs) {
      if (const auto found = sources.find(input); found != sources.end()) {
        input = found->second;
      }
    }
  }
  return remove_dead_nodes(std::move(graph));
}

using Match = std::optional<Replacement> (*)(const GraphIndex&, const Node&);
constexpr Match kMatches[] = {match_layer_normalization, match_folded_layer_normalization, match_gelu,
                              match_attention};

std::optional<Replacement> match(const GraphIndex& index, const Node& root) {
  if (!root.domain.empty() || root.inputs.size() != 2 || root.outputs.size() != 1) {
    return std::nullopt;
  }
  for (const Match pattern : kMatches) {
    if (auto found = pattern(index, root)) {
      found->node.outputs = root.outputs;
      found->node.name = root.name;
      if (is_closed(index, *found)) {
        return found;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

Graph fuse(Graph graph) {
  graph = bypass_idle_nodes(fold_constants(std::move(graph)));
  std::vector<Node> nodes;
  {
    const GraphIndex index(graph);
    std::set<const Node*> gone;
    for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
      if (gone.contains(&*node)) {
        continue;
      }
      auto found = match(index, *node);
      if (!found) {
        nodes.push_back(*node);
        continue;
      }
      gone.insert(found->covered.begin(), found->covered.end());
      nodes.push_back(std::move(found->node));
    }
  }
  std::reverse(nodes.begin(), nodes.end());
  graph.nodes = std::move(nodes);
  const bool composite = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                     [](const Node& node) { return node.domain == "touchstone"; });
  if (composite) {
    graph.opsets["touchstone"] = 1;
  }
  return remove_dead_nodes(std::move(graph));
}

}  // namespace touchstone
