// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/pack.h"

#include <algorithm>

#include "graph/bundle.h"
#include "graph/passes/dead_nodes.h"
#include "graph/passes/pattern.h"

namespace touchstone {
namespace {

constexpr int kSplitTakesLengths = 13;

const Constant* float_constant(const GraphIndex& index, const std::string& value, std::size_t rank) {
  const Constant* constant = index.constant(value);
  const bool fits =
      constant != nullptr && constant->type == DataType::kFloat && constant->shape.size() == rank;
  return fits ? constant : nullptr;
}

// A product with a constant matrix, and the sum with a constant vector that alone reads it.
struct Product {
  const Node* product = nullptr;
  const Node* sum = nullptr;
  std::string matrix, vector;
  std::int64_t rows = 0, columns = 0;
};

using Group = std::vector<Product>;

// The sums x·A + b by their product's node, with b.
std::map<const Node*, std::pair<const Node*, std::string>> biased(const GraphIndex& index) {
  std::map<const Node*, std::pair<const Node*, std::string>> sums;
  for (const Node& node : index.graph().nodes) {
    if (node.op_type != "Add" || !node.domain.empty()) {
      continue;
    }
    for (const std::size_t side : {0U, 1U}) {
      const Node* product = index.made_by(node.inputs[side], "MatMul");
      const std::string& bias = node.inputs[1 - side];
      if (product != nullptr && float_constant(index, bias, 1) != nullptr &&
          index.only_read_by(node.inputs[side], {&node})) {
        sums[product] = {&node, bias};
      }
    }
  }
  return sums;
}

// Products of the same value with matrices of as many rows, two or more of them.
std::vector<Group> groups_of(const GraphIndex& index) {
  const auto sums = biased(index);
  std::map<std::pair<std::string, std::int64_t>, Group> by_value;
  for (const Node& node : index.graph().nodes) {
    if (node.op_type != "MatMul" || !node.domain.empty()) {
      continue;
    }
    const Constant* matrix = float_constant(index, node.inputs[1], 2);
    if (matrix == nullptr || index.constant(node.inputs[0]) != nullptr) {
      continue;
    }
    Product product{&node, nullptr, node.inputs[1], "", matrix->shape[0], matrix->shape[1]};
    if (const auto sum = sums.find(&node); sum != sums.end()) {
      const Constant* vector = index.constant(sum->second.second);
      if (vector->shape[0] == product.columns) {
        product.sum = sum->second.first;
        product.vector = sum->second.second;
      }
    }
    by_value[{node.inputs[0], product.rows}].push_back(std::move(product));
  }
  std::vector<Group> groups;
  for (auto& [value, group] : by_value) {
    if (group.size() > 1) {
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

class Packer {
 public:
  explicit Packer(const Graph& graph) : before_(graph), after_{graph, {}} {}

  PackedGraph pack(const GraphIndex& index) && {
    std::map<const Node*, Group> first;  // by the first node of each group
    std::set<const Node*> covered;
    for (Group& group : groups_of(index)) {
      for (const Product& product : group) {
        covered.insert(product.product);
        // Where not all have a sum, the sums stay behind the Split.
        if (biased_throughout(group)) {
          covered.insert(product.sum);
        }
      }
      first.emplace(group.front().product, std::move(group));
    }
    after_.graph.nodes.clear();
    for (const Node& node : before_.nodes) {
      if (const auto group = first.find(&node); group != first.end()) {
        emit(group->second);
      } else if (!covered.contains(&node)) {
        after_.graph.nodes.push_back(node);
      }
    }
    after_.graph = remove_dead_nodes(std::move(after_.graph));
    return std::move(after_);
  }

 private:
  static bool biased_throughout(const Group& group) {
    return std::all_of(group.begin(), group.end(), [](const Product& p) { return p.sum != nullptr; });
  }

  void emit(const Group& group) {
    const std::string scope = fmt::format("packed.{}", count_++);
    const bool biased = biased_throughout(group);
    PackedConstant matrix{scope + ".weight", {group.front().rows, 0}, {}};
    PackedConstant vector{scope + ".bias", {0}, {}};
    std::vector<std::int64_t> lengths;
    Node split;
    split.name = scope + "/Split";
    split.op_type = "Split";
    split.attributes["axis"] = {std::int64_t{-1}};
    for (const Product& product : group) {
      matrix.shape[1] += product.columns;
      matrix.parts.push_back(product.matrix);
      vector.shape[0] += product.columns;
      vector.parts.push_back(product.vector);
      lengths.push_back(product.columns);
      split.outputs.push_back((biased ? product.sum : product.product)->outputs[0]);
    }
    add("MatMul", scope + "/MatMul", {group.front().product->inputs[0], matrix.name});
    split.inputs = {scope + "/MatMul", scope + "/lengths"};
    if (biased) {
      add("Add", scope + "/Add", {scope + "/MatMul", vector.name});
      split.inputs[0] = scope + "/Add";
      after_.constants.push_back(std::move(vector));
    }
    const auto count = static_cast<std::int64_t>(lengths.size());
    after_.graph.initializers[split.inputs[1]] =
        make_constant<std::int64_t>(DataType::kInt64, {count}, std::span<const std::int64_t>(lengths));
    after_.constants.push_back(std::move(matrix));
    after_.graph.nodes.push_back(std::move(split));
  }

  void add(const char* op_type, const std::string& name, std::vector<std::string> inputs) {
    Node node;
    node.name = name;
    node.op_type = op_type;
    node.inputs = std::move(inputs);
    node.outputs = {name};
    after_.graph.nodes.push_back(std::move(node));
  }

  const Graph& before_;
  PackedGraph after_;
  int count_ = 0;
};

}  // namespace

PackedGraph pack_products(Graph graph) {
  if (graph.opset() < kSplitTakesLengths) {
    return {std::move(graph), {}};
  }
  const GraphIndex index(graph);
  return Packer(graph).pack(index);
}

}  // namespace touchstone
