// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/pack.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "graph/bundle.h"
#include "small_graphs.h"

using namespace touchstone;

namespace {

// Columns side by side, as the caller of the pass has to make them.
Graph filled(PackedGraph packed, const Graph& before) {
  for (const PackedConstant& constant : packed.constants) {
    const std::int64_t rows = constant.shape.size() == 2 ? constant.shape[0] : 1;
    std::vector<float> values;
    for (std::int64_t row = 0; row < rows; ++row) {
      for (const std::string& name : constant.parts) {
        const Constant& part = before.initializers.at(name);
        const auto width = static_cast<std::size_t>(part.shape.back());
        std::vector<float> line(width);
        std::memcpy(line.data(), part.owned->data() + static_cast<std::size_t>(row) * width * sizeof(float),
                    width * sizeof(float));
        values.insert(values.end(), line.begin(), line.end());
      }
    }
    packed.graph.initializers[constant.name] =
        make_constant<float>(DataType::kFloat, constant.shape, std::span<const float>(values));
  }
  return std::move(packed.graph);
}

// Three products of x with matrices of 4, 6 and 4 columns, `biased` of them with a bias, all brought
// together.
Graph projections(int biased) {
  SmallGraph small;
  std::vector<std::string> parts;
  for (int i = 0; i < 3; ++i) {
    const std::int64_t columns = i == 1 ? 6 : 4;
    const std::string product = small.node("MatMul", {"x", small.matrix(8, columns, static_cast<float>(i))});
    parts.push_back(i < biased
                        ? small.node("Add", {small.row(columns, 1.0F + static_cast<float>(i)), product})
                        : product);
  }
  small.node("Concat", parts, {{"axis", {std::int64_t{2}}}});
  return std::move(small).finish();
}

}  // namespace

TEST_CASE("products_of_one_value_become_one") {
  for (const int biased : {0, 2, 3}) {
    CAPTURE(biased);
    const Graph graph = projections(biased);
    const Graph packed = filled(pack_products(graph), graph);
    CHECK(count(packed, "MatMul") == 1);
    CHECK(count(packed, "Split") == 1);
    CHECK(count(packed, "Add") == (biased == 3 ? 1 : static_cast<std::size_t>(biased)));
    CHECK(difference(graph, packed) < 1e-12);
    CHECK(packed.initializers.size() == (biased == 2 ? 4 : biased == 3 ? 3 : 2));  // the old ones are gone
  }
}

TEST_CASE("a_bias_is_left_where_something_else_reads_the_product") {
  SmallGraph small;
  const std::string first = small.node("MatMul", {"x", small.matrix(8, 4, 0)});
  const std::string second = small.node("MatMul", {"x", small.matrix(8, 4, 1)});
  small.also_output(first);
  const std::string sum = small.node("Add", {first, small.row(4, 1)});
  small.node("Add", {sum, small.node("Add", {second, small.row(4, 2)})});
  const Graph graph = std::move(small).finish();
  const Graph packed = filled(pack_products(graph), graph);
  CHECK(count(packed, "MatMul") == 1);
  CHECK(count(packed, "Add") == 3);
  CHECK(difference(graph, packed) < 1e-12);
}

TEST_CASE("products_of_different_values_and_old_opsets_stay") {
  SmallGraph small;
  const std::string first = small.node("MatMul", {"x", small.matrix(8, 8, 0)});
  small.node("MatMul", {first, small.matrix(8, 8, 1)});
  const Graph graph = std::move(small).finish();
  CHECK(pack_products(graph).constants.empty());
  Graph old = projections(3);
  old.opsets[""] = 12;
  CHECK(pack_products(old).constants.empty());
}
