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

void check_form(const std::string& graph_file, const std::string& folder) {
  const auto graph = read_graph(graph_file);
  REQUIRE(graph);
  const auto expected = read_safetensors(folder + "/expected.safetensors");
  REQUIRE(expected);
  for (const char* number : {"0", "1"}) {
    CAPTURE(number);
    std::map<std::string, Value> values = values_of_case(*expected, number);
    std::map<std::string, Value> inputs;
    for (const ValueInfo& input : graph->inputs) {
      REQUIRE_MESSAGE(values.contains(input.name), input.name);
      inputs[input.name] = values[input.name];
    }
    auto interpreter = Interpreter::create(*graph, 2);
    REQUIRE_MESSAGE(interpreter, (interpreter ? "" : interpreter.error().message));
    const auto outputs = (*interpreter)->run(std::move(inputs));
    REQUIRE_MESSAGE(outputs, (outputs ? "" : outputs.error().message));
    REQUIRE(!graph->outputs.empty());
    for (std::size_t i = 0; i < graph->outputs.size(); ++i) {
      const std::string& name = graph->outputs[i].name;
      REQUIRE_MESSAGE(values.contains(name), name);
      CHECK_MESSAGE(largest_difference((*outputs)[i], values[name]) < 1e-5, name);
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
