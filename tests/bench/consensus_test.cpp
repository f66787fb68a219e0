// SPDX-License-Identifier: Apache-2.0
#include "bench/consensus.h"

#include <doctest/doctest.h>

#include <map>

namespace touchstone {
namespace {

Expected output(const std::string& label, float value) {
  auto data = std::make_shared<std::vector<float>>(4, value);
  Expected outputs;
  outputs.truth = label;
  outputs.tensors = {{DataType::kFloat, {4}, std::as_writable_bytes(std::span(*data))}};
  outputs.data = data;
  return outputs;
}

struct Answer {
  std::string engine, label;
  float value;
};

// What is said of each column: "right", "wrong" or "not proven".
std::vector<std::string> judged(const std::vector<Answer>& answers) {
  Consensus consensus("lacks operator Foo");
  Judging judging;
  judging.names = {"y"};
  judging.tolerances = {Tolerance{}};
  for (std::size_t i = 0; i < answers.size(); ++i) {
    consensus.add(i, answers[i].engine, answers[i].label, judging,
                  {output(answers[i].label, answers[i].value)});
  }
  std::vector<std::string> words(answers.size());
  for (const Consensus::Opinion& opinion : consensus.judge()) {
    CHECK(opinion.verdict.find("lacks operator Foo") != std::string::npos);
    CHECK(opinion.error.has_value() != opinion.truth.has_value());
    words[opinion.column] = opinion.error                               ? "wrong"
                            : opinion.verdict.starts_with("not proven") ? "not proven"
                                                                        : "right";
  }
  return words;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("the_engines_that_most_agree_with_are_right") {
  CHECK(judged({{"a", "a", 1}, {"b", "b", 1}, {"c", "c", 1}}) == Words{"right", "right", "right"});
  CHECK(judged({{"a", "a", 1}, {"b", "b", 2}, {"c", "c", 1}}) == Words{"right", "wrong", "right"});
}

TEST_CASE("two_modes_of_one_engine_do_not_outvote_others") {
  CHECK(judged({{"a", "a:x", 1}, {"a", "a:y", 1}, {"a", "a:z", 1}, {"b", "b", 2}, {"c", "c", 2}}) ==
        Words{"wrong", "wrong", "wrong", "right", "right"});
}

TEST_CASE("where_nobody_can_be_told_right_nothing_counts") {
  CHECK(judged({{"a", "a", 1}, {"b", "b", 2}}) == Words{"wrong", "wrong"});
  CHECK(judged({{"a", "a", 1}, {"b", "b", 1}, {"c", "c", 2}, {"d", "d", 2}}) ==
        Words{"wrong", "wrong", "wrong", "wrong"});
}

TEST_CASE("a_single_engine_is_not_proven") {
  CHECK(judged({{"a", "a", 1}}) == Words{"not proven"});
  CHECK(judged({{"a", "a:x", 1}, {"a", "a:y", 1}}) == Words{"not proven", "not proven"});
  CHECK(judged({}).empty());
}

TEST_CASE("lower_precision_on_random_weights_is_not_judged") {
  Plan plan;
  Bundle bundle;
  bundle.source = "zoo:bert-tiny";
  bundle.outputs = {{"y", DataType::kFloat, std::nullopt}};
  const auto judging = judging_of(plan, bundle, "bf16");
  REQUIRE(judging);
  Proof proof;
  REQUIRE(compare_outputs(output("a", 1).tensors, output("b", 2), *judging, proof));
  CHECK(proof.equal);
  CHECK(verdict_text(proof, *judging, "the reference").starts_with("not judged"));
  bundle.source = "/models/own.onnx";
  const auto judged = judging_of(plan, bundle, "bf16");
  REQUIRE(judged);
  REQUIRE(compare_outputs(output("a", 1).tensors, output("b", 2), *judged, proof));
  CHECK(!proof.equal);
}

}  // namespace touchstone
