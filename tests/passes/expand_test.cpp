// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/expand.h"

#include <doctest/doctest.h>

#include "graph/passes/fuse.h"
#include "small_graphs.h"

using namespace touchstone;

namespace {

constexpr double kExact = 1e-12;
constexpr double kRounded = 1e-6;  // √2 and √(2/π) are float32 constants in the primitives

void check_expanded(const Graph& graph, double tolerance) {
  const Graph expanded = expand(graph);
  for (const char* op_type : {"LayerNormalization", "Gelu", "ScaledDotProductAttention", "Attention"}) {
    CHECK_MESSAGE(count(expanded, op_type) == 0, op_type);
  }
  CHECK(difference(graph, expanded) < tolerance);
}

}  // namespace

TEST_CASE("layer_normalization_is_spelt_out_over_its_axes") {
  for (const int opset : {17, 18}) {
    for (const std::int64_t axis : {-1, 2, -2, 1}) {
      CAPTURE(opset);
      CAPTURE(axis);
      SmallGraph small(opset);
      const std::int64_t size = axis == -1 || axis == 2 ? 8 : 24;
      std::string gain = small.row(size, 1);
      if (size == 24) {
        gain = small.input("gain", {"3", "8"});
      }
      small.node("LayerNormalization", {"x", gain}, {{"axis", {axis}}, {"epsilon", {1e-3F}}});
      check_expanded(std::move(small).finish(), kExact);
    }
  }
}

TEST_CASE("gelu_is_spelt_out_by_erf_and_by_tanh") {
  for (const char* approximate : {"none", "tanh"}) {
    CAPTURE(approximate);
    SmallGraph small(20);
    small.node("Gelu", {"x"}, {{"approximate", {std::string(approximate)}}});
    check_expanded(std::move(small).finish(), kRounded);
  }
}

TEST_CASE("what_was_raised_can_be_spelt_out_again") {
  SmallGraph small(17, {"batch", "2", "seq", "8"});
  const std::string k = small.input("k", {"batch", "2", "8", "seq"});
  const std::string v = small.input("v", {"batch", "2", "seq", "8"});
  const std::string scores =
      small.node("Add", {small.node("Div", {small.node("MatMul", {"x", k}), small.scalar(3)}),
                         small.input("bias", {"batch", "1", "1", "seq"})});
  const std::string weights = small.node("Softmax", {scores}, {{"axis", {std::int64_t{-1}}}});
  small.gelu(small.layer_norm(small.node("MatMul", {weights, v})));
  const Graph graph = std::move(small).finish();
  const Graph fused = fuse(graph);
  REQUIRE(fused.nodes.size() == 3);
  check_expanded(fused, kRounded);
  const Graph expanded = expand(fused);
  CHECK_FALSE(expanded.opsets.contains("touchstone"));
  CHECK(difference(graph, expanded) < kRounded);
}

TEST_CASE("onnx_attention_is_spelt_out_where_it_is_plain") {
  SmallGraph small(23, {"batch", "2", "seq", "4"});
  small.input("k", {"batch", "2", "keys", "4"});
  small.input("v", {"batch", "2", "keys", "4"});
  SUBCASE("plain") {
    small.node("Attention", {"x", "k", "v"});
    const Graph expanded = expand(std::move(small).finish());
    CHECK(count(expanded, "Attention") == 0);
    CHECK(count(expanded, "Softmax") == 1);
  }
  SUBCASE("causal") {
    small.node("Attention", {"x", "k", "v"}, {{"is_causal", {std::int64_t{1}}}});
    CHECK(count(expand(std::move(small).finish()), "Attention") == 1);
  }
}
