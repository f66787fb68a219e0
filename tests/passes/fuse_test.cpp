// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/fuse.h"

#include <doctest/doctest.h>

#include <cmath>

#include "graph/onnx/onnx_io.h"
#include "models/bert_encoder.h"
#include "small_graphs.h"

using namespace touchstone;

namespace {

constexpr double kExact = 1e-12;
constexpr double kRounded = 1e-6;  // √2, √(2/π) and products of scales were rounded to float32

void check_one(const Graph& graph, const std::string& op_type, double tolerance) {
  const Graph fused = fuse(graph);
  CHECK(count(fused, op_type) == 1);
  CHECK(fused.nodes.size() == 1);
  CHECK(difference(graph, fused) < tolerance);
}

}  // namespace

TEST_CASE("layer_normalization_of_pytorch_exports_is_raised") {
  for (const int opset : {11, 17, 18}) {
    CAPTURE(opset);
    SmallGraph small(opset);
    small.layer_norm("x");
    const Graph graph = std::move(small).finish();
    check_one(graph, "LayerNormalization", kExact);
    CHECK(fuse(graph).nodes[0].float_attribute("epsilon", 0) == 1e-5F);
  }
}

TEST_CASE("layer_normalization_by_square_and_reciprocal_is_raised") {
  SmallGraph small;
  const std::string centred = small.node("Sub", {"x", small.mean("x", 2)});
  const std::string variance = small.mean(small.node("Mul", {centred, centred}), 2);
  const std::string sum = small.node("Add", {small.scalar(1e-12F), variance});
  const std::string inverse = small.node("Reciprocal", {small.node("Sqrt", {sum})});
  const std::string scaled = small.node("Mul", {small.row(8, 1), small.node("Mul", {inverse, centred})});
  small.node("Add", {small.row(8, 0), scaled});
  check_one(std::move(small).finish(), "LayerNormalization", kExact);
}

TEST_CASE("layer_normalization_of_tensorflow_exports_is_raised") {
  SmallGraph small;
  const std::string mean = small.mean("x");
  const std::string centred = small.node("Sub", {"x", mean});
  const std::string variance = small.mean(small.node("Mul", {centred, centred}));
  const std::string root = small.node("Sqrt", {small.node("Add", {variance, small.scalar(1e-3F)})});
  const std::string inverse = small.node("Mul", {small.node("Reciprocal", {root}), small.row(8, 1)});
  const std::string offset = small.node("Sub", {small.row(8, 0), small.node("Mul", {mean, inverse})});
  small.node("Add", {small.node("Mul", {"x", inverse}), offset});
  check_one(std::move(small).finish(), "LayerNormalization", kExact);
}

TEST_CASE("gelu_is_raised_whatever_the_order_of_its_factors") {
  for (const int order : {0, 1, 2, 3}) {
    CAPTURE(order);
    SmallGraph small;
    const std::string bent =
        small.node("Erf", {order % 2 == 0 ? small.node("Div", {"x", small.scalar(std::sqrt(2.0F))})
                                          : small.node("Mul", {"x", small.scalar(std::sqrt(0.5F))})});
    const std::string gate = small.node("Add", {small.scalar(1), bent});
    if (order == 0) {
      small.node("Mul", {small.node("Mul", {"x", gate}), small.scalar(0.5F)});
    } else if (order == 1) {
      small.node("Mul", {"x", small.node("Mul", {gate, small.scalar(0.5F)})});
    } else if (order == 2) {
      small.node("Mul", {gate, small.node("Div", {"x", small.scalar(2)})});
    } else {
      small.node("Div", {small.node("Mul", {gate, "x"}), small.scalar(2)});
    }
    check_one(std::move(small).finish(), "Gelu", kRounded);
  }
}

TEST_CASE("gelu_by_tanh_is_raised_with_its_approximation") {
  for (const bool factored : {false, true}) {
    CAPTURE(factored);
    SmallGraph small;
    std::string inside;
    if (factored) {  // x · 0.79788456 · (1 + 0.044715 x²)
      const std::string square = small.node("Mul", {small.node("Mul", {"x", small.scalar(0.044715F)}), "x"});
      inside = small.node("Mul", {small.node("Mul", {"x", small.scalar(0.7978845608F)}),
                                  small.node("Add", {square, small.scalar(1)})});
    } else {
      const std::string cube = small.node("Pow", {"x", small.scalar(3)});
      inside =
          small.node("Mul", {small.node("Add", {"x", small.node("Mul", {cube, small.scalar(0.044715F)})}),
                             small.scalar(0.7978845608F)});
    }
    const std::string gate = small.node("Add", {small.node("Tanh", {inside}), small.scalar(1)});
    small.node("Mul", {small.node("Mul", {"x", small.scalar(0.5F)}), gate});
    const Graph graph = std::move(small).finish();
    check_one(graph, "Gelu", kRounded);
    CHECK(fuse(graph).nodes[0].string_attribute("approximate", "") == "tanh");
  }
}

TEST_CASE("attention_is_raised_with_and_without_mask") {
  for (const bool masked : {false, true}) {
    CAPTURE(masked);
    SmallGraph small(17, {"batch", "2", "seq", "4"});
    const std::string k = small.input("k", {"batch", "2", "4", "keys"});
    const std::string v = small.input("v", {"batch", "2", "keys", "4"});
    std::string scores = small.node("Div", {small.node("MatMul", {"x", k}), small.scalar(2)});
    if (masked) {
      scores = small.node("Add", {small.input("bias", {"batch", "1", "1", "keys"}), scores});
    }
    small.node("MatMul", {small.node("Softmax", {scores}, {{"axis", {std::int64_t{3}}}}), v});
    const Graph graph = std::move(small).finish();
    check_one(graph, "ScaledDotProductAttention", kExact);
    CHECK(fuse(graph).nodes[0].inputs.size() == (masked ? 4 : 3));
  }
}

TEST_CASE("scales_of_queries_and_keys_move_into_the_attention") {
  SmallGraph small(17, {"batch", "2", "seq", "4"});
  const std::string k = small.input("k", {"batch", "2", "4", "seq"});
  const std::string v = small.input("v", {"batch", "2", "seq", "4"});
  const std::string root = small.scalar(std::sqrt(0.5F));
  const std::string scores =
      small.node("MatMul", {small.node("Mul", {"x", root}), small.node("Mul", {k, root})});
  small.node("MatMul", {small.node("Softmax", {scores}, {{"axis", {std::int64_t{-1}}}}), v});
  const Graph graph = std::move(small).finish();
  check_one(graph, "ScaledDotProductAttention", kRounded);
  CHECK(fuse(graph).nodes[0].float_attribute("scale", 0) == doctest::Approx(0.5));
}

TEST_CASE("identities_and_idle_dropouts_do_not_hide_a_pattern") {
  SmallGraph small;
  const std::string x = small.node("Identity", {"x"});
  small.gelu(small.node("Dropout", {x}));
  check_one(std::move(small).finish(), "Gelu", kRounded);
}

TEST_CASE("both_of_pytorchs_exports_of_bert_are_raised_and_keep_their_values") {
  for (const char* name : {"torchscript", "dynamo"}) {
    CAPTURE(name);
    auto graph = read_onnx(std::string(TOUCHSTONE_TEST_DATA "/bert-export-") + name + ".onnx");
    REQUIRE_MESSAGE(graph, (graph ? "" : graph.error().message));
    const Graph fused = fuse(*graph);
    CHECK(count(fused, "LayerNormalization") == 3);
    CHECK(count(fused, "Gelu") == 1);
    CHECK(count(fused, "ScaledDotProductAttention") == 1);
    CHECK(count(fused, "Softmax") == 0);
    CHECK(count(fused, "IsNaN") == 0);
    CHECK(difference(*graph, fused) < kRounded);
  }
}

TEST_CASE("the_zoos_primitive_bert_is_raised_to_its_fused_form") {
  const BertConfig config{.vocab_size = 2,
                          .hidden_size = 16,
                          .num_hidden_layers = 2,
                          .num_attention_heads = 2,
                          .intermediate_size = 32,
                          .max_position_embeddings = 16};
  ModelDefinition model = build_bert("b", config, Form::kPrimitive);
  for (const WeightSpec& weight : model.weights) {
    Constant constant;
    constant.type = DataType::kFloat;
    constant.shape = weight.shape;
    constant.owned = std::make_shared<std::vector<std::byte>>();
    constant.size = byte_size(DataType::kFloat, element_count(weight.shape));
    constant.owned->resize(constant.size);
    generate_weights(weight, 1, {reinterpret_cast<float*>(constant.owned->data()), constant.size / 4});
    model.graph.initializers[weight.name] = std::move(constant);
  }
  const auto graph = infer_shapes(std::move(model.graph));
  REQUIRE(graph);
  const Graph fused = fuse(*graph);
  const Graph expected = build_bert("b", config, Form::kFused).graph;
  for (const char* op_type : {"ScaledDotProductAttention", "Gelu", "LayerNormalization", "MatMul", "Add"}) {
    CHECK_MESSAGE(count(fused, op_type) == count(expected, op_type), op_type);
  }
  CHECK(difference(*graph, fused) < kRounded);
}
