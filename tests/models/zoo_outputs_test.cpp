// SPDX-License-Identifier: Apache-2.0
// The zoo's networks that are no transformers, with the zoo's own weights, on the reference against PyTorch
// in double precision (tools/make-zoo-fixtures.py).
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/zoo.h"
#include "reference/interpreter.h"

using namespace touchstone;
using nlohmann::json;

namespace {

// The zoo's seed, as apps/touchstone-model/zoo_bundle.cpp has it.
constexpr std::uint64_t kSeed = 1;

Graph with_weights(const ZooEntry& entry) {
  ModelDefinition model = entry.build(Form::kFused);
  for (const WeightSpec& weight : model.weights) {
    Constant constant;
    constant.type = DataType::kFloat;
    constant.shape = weight.shape;
    constant.size = byte_size(DataType::kFloat, element_count(weight.shape));
    constant.owned = std::make_shared<std::vector<std::byte>>(constant.size);
    generate_weights(weight, kSeed,
                     {reinterpret_cast<float*>(constant.owned->data()), constant.size / sizeof(float)});
    model.graph.initializers[weight.name] = std::move(constant);
  }
  return std::move(model.graph);
}

// The formulas of the script: element i is (i · 7919) mod 2003 ÷ 1001.5 − 1, or the word (i · 7919) mod
// 30000.
Value input_of(const Graph& graph, const Shape& shape) {
  const auto count = static_cast<std::int64_t>(element_count(shape));
  if (graph.inputs.front().type == DataType::kInt64) {
    std::vector<std::int64_t> words;
    for (std::int64_t i = 0; i < count; ++i) {
      words.push_back(i * 7919 % 30000);
    }
    return Value::ints(shape, std::move(words));
  }
  std::vector<double> pixels;
  for (std::int64_t i = 0; i < count; ++i) {
    pixels.push_back(static_cast<double>(i * 7919 % 2003) / 1001.5 - 1);
  }
  return Value::reals(shape, std::move(pixels));
}

}  // namespace

TEST_CASE("networks_compute_what_pytorch_computes") {
  const auto text = read_text_file(TOUCHSTONE_TEST_DATA "/zoo-outputs.json");
  REQUIRE(text);
  const json stored = json::parse(*text);
  for (const auto& [name, expected] : stored.items()) {
    CAPTURE(name);
    const ZooEntry* entry = find_in_zoo(name);
    REQUIRE(entry != nullptr);
    CHECK(count_weights(*entry).parameters == expected.at("parameters").get<std::uint64_t>());
    Graph graph = with_weights(*entry);
    const Value input = input_of(graph, expected.at("shape").get<Shape>());
    const std::string input_name = graph.inputs.front().name;
    auto interpreter = Interpreter::create(std::move(graph), 2);
    REQUIRE(interpreter);
    const auto outputs = (*interpreter)->run({{input_name, input}});
    REQUIRE_MESSAGE(outputs, (outputs ? "" : outputs.error().message));
    const auto numbers = expected.at("output").get<std::vector<double>>();
    REQUIRE(outputs->front().size() == numbers.size());
    double scale = 0;
    double largest = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      scale = std::max(scale, std::abs(numbers[i]));
      largest = std::max(largest, std::abs(numbers[i] - outputs->front().number(i)));
    }
    CHECK(largest < 1e-9);
    CHECK(scale > 0.01);  // neither dying out
    CHECK(scale < 100);   // nor blowing up
  }
}
