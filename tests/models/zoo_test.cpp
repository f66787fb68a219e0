// SPDX-License-Identifier: Apache-2.0
#include "models/zoo.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "models/bert.h"

using namespace touchstone;

namespace {

std::size_t parameters(const std::string& name) {
  const ZooEntry* entry = find_in_zoo(name);
  REQUIRE(entry != nullptr);
  std::size_t count = 0;
  for (const WeightSpec& weight : entry->build(*entry, Form::kPrimitive).weights) {
    count += element_count(weight.shape);
  }
  return count;
}

std::size_t count(const Graph& graph, const std::string& op_type) {
  return static_cast<std::size_t>(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                                [&](const Node& node) { return node.op_type == op_type; }));
}

}  // namespace

// The counts of Hugging Face's BertModel with these vocabularies.
TEST_CASE("bert_has_as_many_parameters_as_hugging_face_gives_it") {
  CHECK(parameters("bert-base-chinese") == 102'267'648);
  CHECK(parameters("bert-base-cased") == 108'310'272);
  CHECK(parameters("bert-base-uncased") == 109'482'240);
}

TEST_CASE("every_zoo_model_is_found_by_its_name") {
  for (const ZooEntry& entry : zoo()) {
    CHECK(find_in_zoo(entry.name) == &entry);
  }
  CHECK(find_in_zoo("no-such-model") == nullptr);
}

TEST_CASE("forms_share_their_weights") {
  const ZooEntry* entry = find_in_zoo("bert-tiny");
  const auto primitive = entry->build(*entry, Form::kPrimitive).weights;
  const auto fused = entry->build(*entry, Form::kFused).weights;
  REQUIRE(primitive.size() == fused.size());
  for (std::size_t i = 0; i < fused.size(); ++i) {
    CHECK(primitive[i].name == fused[i].name);
    CHECK(primitive[i].shape == fused[i].shape);
  }
}

TEST_CASE("fused_form_keeps_composites_whole_and_the_primitive_form_spells_them_out") {
  const ZooEntry* entry = find_in_zoo("bert-tiny");
  const Graph fused = entry->build(*entry, Form::kFused).graph;
  CHECK(count(fused, "ScaledDotProductAttention") == 2);
  CHECK(count(fused, "Gelu") == 2);
  CHECK(count(fused, "LayerNormalization") == 5);
  CHECK(count(fused, "Softmax") == 0);
  const Graph primitive = entry->build(*entry, Form::kPrimitive).graph;
  CHECK(count(primitive, "ScaledDotProductAttention") == 0);
  CHECK(count(primitive, "Erf") == 2);
  CHECK(count(primitive, "Softmax") == 2);
}

TEST_CASE("every_value_is_made_before_it_is_read") {
  for (const Form form : {Form::kPrimitive, Form::kFused}) {
    const ModelDefinition model = build_bert("b", BertConfig{.num_hidden_layers = 2}, form);
    std::set<std::string> known;
    for (const ValueInfo& input : model.graph.inputs) {
      known.insert(input.name);
    }
    for (const WeightSpec& weight : model.weights) {
      CHECK(known.insert(weight.name).second);
    }
    for (const auto& [name, constant] : model.graph.initializers) {
      CHECK(known.insert(name).second);
    }
    for (const Node& node : model.graph.nodes) {
      for (const std::string& input : node.inputs) {
        CHECK_MESSAGE(known.contains(input), node.name << " reads " << input);
      }
      for (const std::string& output : node.outputs) {
        CHECK_MESSAGE(known.insert(output).second, output << " is made twice");
      }
    }
    for (const ValueInfo& output : model.graph.outputs) {
      CHECK(known.contains(output.name));
    }
  }
}
