// SPDX-License-Identifier: Apache-2.0
// Look-alikes that must stay as they are.
#include <doctest/doctest.h>

#include <cmath>

#include "graph/passes/fuse.h"
#include "small_graphs.h"

using namespace touchstone;

namespace {

void check_untouched(const Graph& graph) {
  const Graph fused = fuse(graph);
  for (const char* op_type : {"LayerNormalization", "Gelu", "ScaledDotProductAttention"}) {
    CHECK_MESSAGE(count(fused, op_type) == 0, op_type);
  }
  CHECK(difference(graph, fused) == 0);
}

std::map<std::string, Attribute> axis(std::int64_t value) {
  return {{"axis", {value}}};
}

}  // namespace

TEST_CASE("normalization_over_another_axis_stays") {
  SmallGraph small(17, {"batch", "8", "8"});
  small.layer_norm("x", 1);
  check_untouched(std::move(small).finish());
}

TEST_CASE("normalization_whose_inside_is_read_elsewhere_stays") {
  SmallGraph small;
  const std::string centred = small.node("Sub", {"x", small.mean("x")});
  const std::string variance = small.mean(small.node("Mul", {centred, centred}));
  const std::string deviation = small.node("Sqrt", {small.node("Add", {variance, small.scalar(1e-5F)})});
  const std::string scaled = small.node("Mul", {small.node("Div", {centred, deviation}), small.row(8, 1)});
  const std::string y = small.node("Add", {scaled, small.row(8, 0)});
  SUBCASE("by another node") {
    small.node("Add", {y, centred});
  }
  SUBCASE("as an output of the graph") {
    small.also_output(deviation);
    small.node("Neg", {y});
  }
  check_untouched(std::move(small).finish());
}

TEST_CASE("normalization_with_an_epsilon_that_is_not_constant_stays") {
  SmallGraph small;
  const std::string epsilon = small.input("epsilon", {"1"});
  const std::string centred = small.node("Sub", {"x", small.mean("x")});
  const std::string variance = small.mean(small.node("Mul", {centred, centred}));
  const std::string squared = small.node("Mul", {epsilon, epsilon});
  const std::string deviation = small.node("Sqrt", {small.node("Add", {variance, squared})});
  const std::string scaled = small.node("Mul", {small.node("Div", {centred, deviation}), small.row(8, 1)});
  small.node("Add", {scaled, small.row(8, 0)});
  check_untouched(std::move(small).finish());
}

TEST_CASE("normalization_with_another_power_or_another_centre_stays") {
  SmallGraph small;
  const std::string centred = small.node("Sub", {"x", small.mean("x")});
  std::string spread = small.node("Pow", {centred, small.scalar(4)});
  std::string shown = centred;
  SUBCASE("fourth power") {}
  SUBCASE("another centre") {
    spread = small.node("Pow", {centred, small.scalar(2)});
    shown = small.node("Sub", {"x", small.row(8, 0)});
  }
  const std::string deviation =
      small.node("Sqrt", {small.node("Add", {small.mean(spread), small.scalar(1e-5F)})});
  const std::string scaled = small.node("Mul", {small.node("Div", {shown, deviation}), small.row(8, 1)});
  small.node("Add", {scaled, small.row(8, 0)});
  check_untouched(std::move(small).finish());
}

TEST_CASE("a_gain_of_one_number_stays_with_its_primitives") {
  SmallGraph small;
  const std::string centred = small.node("Sub", {"x", small.mean("x")});
  const std::string variance = small.mean(small.node("Mul", {centred, centred}));
  const std::string deviation = small.node("Sqrt", {small.node("Add", {variance, small.scalar(1e-5F)})});
  const std::string scaled = small.node("Mul", {small.node("Div", {centred, deviation}), small.row(1, 1)});
  small.node("Add", {scaled, small.row(8, 0)});
  check_untouched(std::move(small).finish());
}

TEST_CASE("what_only_looks_like_gelu_stays") {
  SmallGraph small;
  float divisor = std::sqrt(2.0F);
  float one = 1;
  float half = 0.5F;
  std::string gated = "x";
  SUBCASE("another divisor") {
    divisor = 1.5F;
  }
  SUBCASE("another offset") {
    one = 2;
  }
  SUBCASE("another factor") {
    half = 0.25F;
  }
  SUBCASE("another gated value") {
    gated = small.node("Neg", {"x"});
  }
  const std::string erf = small.node("Erf", {small.node("Div", {"x", small.scalar(divisor)})});
  const std::string gate = small.node("Add", {erf, small.scalar(one)});
  small.node("Mul", {small.node("Mul", {gated, gate}), small.scalar(half)});
  check_untouched(std::move(small).finish());
}

TEST_CASE("what_only_looks_like_attention_stays") {
  SmallGraph small(17, {"batch", "2", "4", "4"});
  const std::string k = small.input("k", {"batch", "2", "4", "4"});
  const std::string v = small.input("v", {"batch", "2", "4", "4"});
  const std::string scores = small.node("Div", {small.node("MatMul", {"x", k}), small.scalar(2)});
  SUBCASE("softmax over another axis") {
    small.node("MatMul", {small.node("Softmax", {scores}, axis(2)), v});
  }
  SUBCASE("probabilities on the right") {
    small.node("MatMul", {v, small.node("Softmax", {scores}, axis(-1))});
  }
  SUBCASE("probabilities are an output as well") {
    const std::string weights = small.node("Softmax", {scores}, axis(-1));
    small.also_output(weights);
    small.node("MatMul", {weights, v});
  }
  SUBCASE("a scale that is not constant") {
    const std::string scale = small.input("scale", {"1"});
    const std::string scaled = small.node("Mul", {small.node("MatMul", {"x", k}), scale});
    small.node("MatMul", {small.node("Softmax", {scaled}, axis(-1)), v});
  }
  SUBCASE("the softmax of old opsets over more than the last axis") {
    SmallGraph old(11, {"batch", "2", "4", "4"});
    old.input("k", {"batch", "2", "4", "4"});
    old.input("v", {"batch", "2", "4", "4"});
    old.node("MatMul", {old.node("Softmax", {old.node("MatMul", {"x", "k"})}), "v"});
    small = std::move(old);
  }
  check_untouched(std::move(small).finish());
}

TEST_CASE("a_guard_against_not_a_number_stays_where_the_mask_could_make_one") {
  SmallGraph small(17, {"batch", "2", "4", "4"});
  const std::string k = small.input("k", {"batch", "2", "4", "4"});
  const std::string v = small.input("v", {"batch", "2", "4", "4"});
  const std::string bias = small.input("bias", {"batch", "1", "1", "4"});
  const std::string scores = small.node("Add", {small.node("MatMul", {"x", k}), bias});
  const std::string weights = small.node("Softmax", {scores}, axis(-1));
  const std::string guarded = small.node("Where", {small.node("IsNaN", {weights}), small.scalar(0), weights});
  small.node("MatMul", {guarded, v});
  check_untouched(std::move(small).finish());
}
