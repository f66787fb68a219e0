// SPDX-License-Identifier: Apache-2.0
// Every transformer family of the zoo, from a checkpoint as Hugging Face transformers saves it, on the
// reference against the outputs of Hugging Face's model in double precision
// (tools/make-checkpoint-fixtures.py).
#include "checkpoint/checkpoint.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "graph/bundle.h"
#include "graph/passes/expand.h"
#include "graph/passes/fuse.h"
#include "reference/interpreter.h"
#include "support/places.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

Value value_of(const StoredTensor& tensor) {
  Value value;
  const auto read = tensor.read([&](std::span<const std::byte> bytes) -> Result<void> {
    auto made = Value::from_bytes(tensor.type, tensor.shape, bytes);
    REQUIRE(made);
    value = std::move(*made);
    return {};
  });
  REQUIRE(read);
  return value;
}

// The tensors of one case, without its number.
std::map<std::string, Value> values_of_case(const TensorIndex& expected, const std::string& number) {
  std::map<std::string, Value> values;
  for (const auto& [name, tensor] : expected) {
    if (name.starts_with(number + ".")) {
      values[name.substr(number.size() + 1)] = value_of(tensor);
    }
  }
  return values;
}

Bundle prepared(const std::string& checkpoint, const TemporaryFolder& home) {
  const CommandResult result =
      run_command({built_bin() + "/touchstone-model", "prepare", checkpoint, "--home", home.path()});
  REQUIRE_MESSAGE(result.exit_code == 0, result.out);
  const auto answer = nlohmann::json::parse(result.out);
  const auto bundle = read_bundle(answer.at("folder").get<std::string>());
  REQUIRE(bundle);
  return *bundle;
}

double largest_difference(const Value& made, const Value& expected) {
  REQUIRE(made.shape() == expected.shape());
  double largest = 0;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const double difference = std::abs(made.number(i) - expected.number(i));
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

// What a graph makes of the inputs among `values`, in the order of its outputs.
std::vector<Value> computed(const Graph& graph, const std::map<std::string, Value>& values) {
  std::map<std::string, Value> inputs;
  for (const ValueInfo& input : graph.inputs) {
    REQUIRE_MESSAGE(values.contains(input.name), input.name);
    inputs[input.name] = values.at(input.name);
  }
  auto interpreter = Interpreter::create(graph, 2);
  REQUIRE_MESSAGE(interpreter, (interpreter ? "" : interpreter.error().message));
  auto outputs = (*interpreter)->run(std::move(inputs));
  REQUIRE_MESSAGE(outputs, (outputs ? "" : outputs.error().message));
  REQUIRE(!outputs->empty());
  return std::move(*outputs);
}

void check_form(const std::string& graph_file, const std::string& folder) {
  const auto graph = read_graph(graph_file);
  REQUIRE(graph);
  const auto expected = read_safetensors(folder + "/expected.safetensors");
  REQUIRE(expected);
  for (const char* number : {"0", "1"}) {
    CAPTURE(number);
    const std::map<std::string, Value> values = values_of_case(*expected, number);
    const auto outputs = computed(*graph, values);
    for (std::size_t i = 0; i < graph->outputs.size(); ++i) {
      const std::string& name = graph->outputs[i].name;
      REQUIRE_MESSAGE(values.contains(name), name);
      CHECK_MESSAGE(largest_difference(outputs[i], values.at(name)) < 1e-5, name);
    }
  }
}

// Constants that stand for an irrational number (Gelu's √½, attention's 1/√size) are rounded to float32, as a
// divisor in one form and as a factor in another. Nothing else differs: tests/passes/fuse_test.cpp has it to
// 1e-12 where they are exact.
constexpr double kRounded = 2e-7;

// Every graph that the passes make of `source` gives what it gives.
void check_passes(const Bundle& bundle, const std::string& folder) {
  const auto source = read_graph(bundle.forms.at("source").graph);
  const auto built = read_graph(bundle.forms.at("fused").graph);
  const auto expected = read_safetensors(folder + "/expected.safetensors");
  REQUIRE(source);
  REQUIRE(built);
  REQUIRE(expected);
  const std::map<std::string, Value> values = values_of_case(*expected, "0");
  const auto truth = computed(*source, values);
  std::map<std::string, Graph> made = {
      {"built", *built}, {"fused", fuse(*source)}, {"fused and expanded", expand(fuse(*source))}};
  if (const auto packed = bundle.forms.find("packed"); packed != bundle.forms.end()) {
    const auto graph = read_graph(packed->second.graph);
    REQUIRE(graph);
    made["packed"] = *graph;
  }
  for (const auto& [name, graph] : made) {
    const auto outputs = computed(graph, values);
    REQUIRE(outputs.size() == truth.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const double difference = largest_difference(outputs[i], truth[i]);
      CHECK_MESSAGE(difference < (name == "packed" ? 1e-12 : kRounded), name << ": " << difference);
    }
  }
}

}  // namespace

TEST_CASE("checkpoints_compute_what_hugging_face_computes") {
  const TemporaryFolder home;
  std::size_t seen = 0;
  for (const auto& entry : fs::directory_iterator(std::string(TOUCHSTONE_TEST_DATA) + "/checkpoints")) {
    const std::string folder = entry.path().string();
    CAPTURE(folder);
    const Bundle bundle = prepared(folder, home);
    check_form(bundle.forms.at("source").graph, folder);
    check_form(bundle.forms.at("fused").graph, folder);
    ++seen;
  }
  CHECK(seen >= 21);
}

TEST_CASE("what_the_passes_make_is_equal_by_value") {
  const TemporaryFolder home;
  std::size_t packed = 0;
  for (const auto& entry : fs::directory_iterator(std::string(TOUCHSTONE_TEST_DATA) + "/checkpoints")) {
    CAPTURE(entry.path().string());
    const Bundle bundle = prepared(entry.path().string(), home);
    packed += bundle.forms.contains("packed") ? 1 : 0;
    check_passes(bundle, entry.path().string());
  }
  CHECK(packed > 10);
}

TEST_CASE("a_checkpoint_is_read_again_when_it_has_changed") {
  const TemporaryFolder folder;
  const TemporaryFolder home;
  const fs::path copy = folder / "bert";
  fs::copy(std::string(TOUCHSTONE_TEST_DATA) + "/checkpoints/bert", copy, fs::copy_options::recursive);
  const std::string before = prepared(copy.string(), home).hash;
  CHECK(prepared(copy.string(), home).hash == before);
  std::string bytes = read_text((copy / "model.safetensors").string());
  bytes[bytes.size() - 2] = static_cast<char>(bytes[bytes.size() - 2] ^ 1);
  write_text((copy / "model.safetensors").string(), bytes);
  CHECK(prepared(copy.string(), home).hash != before);
}

}  // namespace touchstone
