// SPDX-License-Identifier: Apache-2.0
// The zoo's BERT on the reference against Hugging Face's BertModel, and mutations that the verdict must
// catch.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "graph/bundle.h"
#include "models/bert_encoder.h"
#include "reference/interpreter.h"
#include "reference/verdict.h"

using namespace touchstone;
using nlohmann::json;

namespace {

std::vector<std::byte> from_base64(const std::string& text) {
  std::vector<std::byte> bytes;
  std::uint32_t bits = 0;
  int count = 0;
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (const char c : text) {
    const std::size_t value = digits.find(c);
    if (value == std::string::npos) {
      break;
    }
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<std::byte>((bits >> count) & 0xFFU));
    }
  }
  return bytes;
}

const json& fixture() {
  static const json kFixture = [] {
    const auto text = read_text_file(TOUCHSTONE_TEST_DATA "/bert-fixture.json");
    REQUIRE(text);
    return json::parse(*text);
  }();
  return kFixture;
}

Graph fixture_graph(Form form) {
  const json& c = fixture()["config"];
  BertConfig config;
  config.vocab_size = c["vocab_size"];
  config.hidden_size = c["hidden_size"];
  config.num_hidden_layers = c["num_hidden_layers"];
  config.num_attention_heads = c["num_attention_heads"];
  config.intermediate_size = c["intermediate_size"];
  config.max_position_embeddings = c["max_position_embeddings"];
  config.type_vocab_size = c["type_vocab_size"];
  config.layer_norm_eps = c["layer_norm_eps"];
  ModelDefinition model = build_bert("fixture", config, form);
  for (const WeightSpec& weight : model.weights) {
    CAPTURE(weight.name);
    const json& stored = fixture()["weights"].at(weight.name);
    REQUIRE(stored["shape"].get<std::vector<std::int64_t>>() == weight.shape);
    Constant constant;
    constant.type = DataType::kFloat;
    constant.shape = weight.shape;
    constant.owned = std::make_shared<std::vector<std::byte>>(from_base64(stored["data"]));
    constant.size = constant.owned->size();
    model.graph.initializers[weight.name] = std::move(constant);
  }
  return std::move(model.graph);
}

std::vector<Value> run_case(Graph graph, const json& c) {
  auto interpreter = Interpreter::create(std::move(graph), 2);
  REQUIRE(interpreter);
  const Shape shape = {c["batch"].get<std::int64_t>(), c["seq"].get<std::int64_t>()};
  std::map<std::string, Value> inputs;
  for (const char* name : {"input_ids", "attention_mask", "token_type_ids"}) {
    inputs[name] = Value::ints(shape, c[name].get<std::vector<std::int64_t>>());
  }
  auto outputs = (*interpreter)->run(std::move(inputs));
  REQUIRE(outputs);
  return std::move(*outputs);
}

TensorView view_of(const Value& value) {
  const auto bytes = std::as_bytes(value.d());
  return {DataType::kDouble, value.shape(), {const_cast<std::byte*>(bytes.data()), bytes.size()}};
}

double largest_difference(const Value& value, const json& expected) {
  const auto bytes = from_base64(expected);
  const std::span numbers(reinterpret_cast<const double*>(bytes.data()), bytes.size() / sizeof(double));
  REQUIRE(numbers.size() == value.size());
  double largest = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    largest = std::max(largest, std::abs(numbers[i] - value.d()[i]));
  }
  return largest;
}

// The double outputs as an engine in f32 would hand them over.
std::vector<float> rounded(const Value& value) {
  return {value.d().begin(), value.d().end()};
}

bool caught(const std::function<void(Graph&)>& mutate) {
  Graph mutated = fixture_graph(Form::kPrimitive);
  mutate(mutated);
  for (const json& c : fixture()["cases"]) {
    const auto wrong = run_case(mutated, c);
    const auto right = run_case(fixture_graph(Form::kPrimitive), c);
    auto single = rounded(wrong[0]);
    const TensorView actual{DataType::kFloat, wrong[0].shape(), std::as_writable_bytes(std::span(single))};
    if (!compare_tensors(actual, view_of(right[0]), tolerance_for("f32"), false).equal) {
      return true;
    }
  }
  return false;
}

Node& node_named(Graph& graph, const std::string& part) {
  for (Node& node : graph.nodes) {
    if (node.name.find(part) != std::string::npos) {
      return node;
    }
  }
  FAIL("no node is named " << part);
  return graph.nodes.front();
}

}  // namespace

TEST_CASE("the_zoos_bert_is_hugging_faces_with_padding_two_lengths_and_token_types") {
  for (const Form form : {Form::kPrimitive, Form::kFused}) {
    for (const json& c : fixture()["cases"]) {
      const auto outputs = run_case(fixture_graph(form), c);
      // The constant √2 of the primitive form is a float, as every exporter writes it.
      CHECK(largest_difference(outputs[0], c["last_hidden_state"]) < 1e-6);
      CHECK(largest_difference(outputs[1], c["pooler_output"]) < 1e-6);
    }
  }
}

TEST_CASE("rounding_to_single_precision_is_not_taken_for_a_fault") {
  CHECK_FALSE(caught([](Graph&) {}));
}

TEST_CASE("a_wrong_epsilon_is_caught") {
  CHECK(caught([](Graph& graph) {
    for (Node& node : graph.nodes) {
      if (node.op_type == "LayerNormalization") {
        node.attributes["epsilon"] = {1e-5F};
      }
    }
  }));
}

TEST_CASE("tanh_for_erf_is_caught") {
  CHECK(caught([](Graph& graph) {
    for (Node& node : graph.nodes) {
      if (node.op_type == "Erf") {  // x/2·(1 + tanh(…)) in place of erf, fed with the same x/√2
        node.op_type = "Tanh";
      }
    }
  }));
}

TEST_CASE("the_tanh_approximation_of_gelu_is_caught") {
  Graph graph = fixture_graph(Form::kFused);
  for (Node& node : graph.nodes) {
    if (node.op_type == "Gelu") {
      node.attributes["approximate"] = {std::string("tanh")};
    }
  }
  const json& c = fixture()["cases"][0];
  const auto wrong = run_case(graph, c);
  const auto right = run_case(fixture_graph(Form::kFused), c);
  CHECK_FALSE(compare_tensors(view_of(wrong[0]), view_of(right[0]), tolerance_for("f32"), false).equal);
}

TEST_CASE("a_dropped_mask_is_caught") {
  CHECK(caught([](Graph& graph) { node_named(graph, "mask/Mul").inputs[1] = "mask/one"; }));
}

TEST_CASE("transposed_heads_are_caught") {
  CHECK(caught([](Graph& graph) {
    node_named(graph, "layer.0.attention.self/merge/Transpose").attributes["perm"] = {
        std::vector<std::int64_t>{0, 2, 3, 1}};
  }));
}
