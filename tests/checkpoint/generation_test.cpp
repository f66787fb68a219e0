// SPDX-License-Identifier: Apache-2.0
// A prompt and the tokens after it, through the graphs of generation, are what the whole text is at once.
#include <doctest/doctest.h>

#include <cmath>

#include "graph/bundle.h"
#include "reference/interpreter.h"
#include "support/places.h"

namespace touchstone {
namespace {

constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kLength = 9;
constexpr std::int64_t kPrompt = 4;

CommandResult prepare(const std::string& model, const TemporaryFolder& home) {
  return run_command({built_bin() + "/touchstone-model", "prepare", model, "--home", home.path()});
}

// Runs one graph; outputs by name.
class Network {
 public:
  Network(const std::string& model, const std::string& form, const TemporaryFolder& home) {
    const CommandResult result = prepare(model, home);
    REQUIRE_MESSAGE(result.exit_code == 0, result.out);
    const auto bundle = read_bundle(nlohmann::json::parse(result.out).at("folder").get<std::string>());
    REQUIRE(bundle);
    auto graph = read_graph(bundle->forms.at(form).graph);
    REQUIRE(graph);
    auto interpreter = Interpreter::create(std::move(*graph), 2);
    REQUIRE_MESSAGE(interpreter, (interpreter ? "" : interpreter.error().message));
    interpreter_ = std::move(*interpreter);
  }
  std::map<std::string, Value> run(const std::map<std::string, Value>& inputs) {
    auto outputs = interpreter_->run(inputs);
    REQUIRE_MESSAGE(outputs, (outputs ? "" : outputs.error().message));
    std::map<std::string, Value> named;
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      named[interpreter_->graph().outputs[i].name] = std::move((*outputs)[i]);
    }
    return named;
  }

 private:
  std::unique_ptr<Interpreter> interpreter_;
};

// Positions `first` to `end` of a text that is the same for all.
Value words(std::int64_t first, std::int64_t end) {
  std::vector<std::int64_t> ids;
  for (std::int64_t row = 0; row < kBatch; ++row) {
    for (std::int64_t i = first; i < end; ++i) {
      ids.push_back((row * kLength + i) * 7 % 23);
    }
  }
  return Value::ints({kBatch, end - first}, std::move(ids));
}

// The logits of one step against those of a position of the whole text.
void check_logits(const Value& step, const Value& whole, std::int64_t position) {
  const std::int64_t vocabulary = whole.shape().back();
  REQUIRE(step.shape() == Shape{kBatch, 1, vocabulary});
  double largest = 0;
  for (std::int64_t row = 0; row < kBatch; ++row) {
    for (std::int64_t word = 0; word < vocabulary; ++word) {
      const auto there = static_cast<std::size_t>((row * kLength + position) * vocabulary + word);
      const auto here = static_cast<std::size_t>(row * vocabulary + word);
      largest = std::max(largest, std::abs(step.number(here) - whole.number(there)));
    }
  }
  CHECK(largest < 1e-10);
}

void check_generation(const std::string& checkpoint, const std::string& form, const TemporaryFolder& home) {
  const Value ones = Value::ints({kBatch, kLength}, std::vector<std::int64_t>(kBatch * kLength, 1));
  const Value whole = Network(checkpoint, form, home)
                          .run({{"input_ids", words(0, kLength)}, {"attention_mask", ones}})
                          .at("logits");
  auto outputs = Network(checkpoint + ":prefill", form, home).run({{"input_ids", words(0, kPrompt)}});
  check_logits(outputs.at("logits"), whole, kPrompt - 1);
  Network decode(checkpoint + ":decode", form, home);
  for (std::int64_t position = kPrompt; position < kLength; ++position) {
    CAPTURE(position);
    std::map<std::string, Value> inputs = {{"input_ids", words(position, position + 1)}};
    for (auto& [name, value] : outputs) {
      if (name != "logits") {
        REQUIRE(name.starts_with("present."));
        inputs["past_key_values." + name.substr(8)] = std::move(value);
      }
    }
    outputs = decode.run(inputs);
    check_logits(outputs.at("logits"), whole, position);
  }
}

}  // namespace

TEST_CASE("token_by_token_is_the_whole_text") {
  const TemporaryFolder home;
  for (const char* checkpoint : {"gpt2-lm-bf16", "llama-lm-f16"}) {
    for (const char* form : {"source", "fused"}) {
      CAPTURE(checkpoint);
      CAPTURE(form);
      check_generation(std::string(TOUCHSTONE_TEST_DATA) + "/checkpoints/" + checkpoint, form, home);
    }
  }
}

TEST_CASE("what_cannot_generate_says_so") {
  const TemporaryFolder home;
  const std::string checkpoints = std::string(TOUCHSTONE_TEST_DATA) + "/checkpoints/";
  for (const std::string& model :
       {std::string("bert-tiny:decode"), checkpoints + "bert:prefill", checkpoints + "llama:decode"}) {
    const CommandResult result = prepare(model, home);
    CAPTURE(result.out);
    CHECK(result.exit_code == 1);
    CHECK(result.out.find("\"unsupported\"") != std::string::npos);
    CHECK(result.out.find("llama-135m") != std::string::npos);
  }
  const CommandResult file = prepare("model.onnx:decode", home);
  CHECK(file.out.find("give the one that holds that graph") != std::string::npos);
}

}  // namespace touchstone
