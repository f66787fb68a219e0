// SPDX-License-Identifier: Apache-2.0
#include "models/zoo.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

using namespace touchstone;

namespace {

std::size_t count(const Graph& graph, const std::string& op_type) {
  return static_cast<std::size_t>(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                                [&](const Node& node) { return node.op_type == op_type; }));
}

const ZooEntry& bert_tiny() {
  return *find_in_zoo("bert-tiny");
}

// Every value is made once, before the nodes that read it.
void check_order(const ZooEntry& entry) {
  CAPTURE(entry.name);
  for (const Form form : {Form::kPrimitive, Form::kFused}) {
    const ModelDefinition model = entry.build(form);
    std::set<std::string> known = {""};  // an optional input left out
    for (const ValueInfo& input : model.graph.inputs) {
      known.insert(input.name);
    }
    for (const WeightSpec& weight : model.weights) {
      CHECK(known.insert(weight.name).second);
    }
    for (const auto& [name, constant] : model.graph.initializers) {
      CHECK(known.insert(name).second);
    }
    std::set<std::string> nodes;
    for (const Node& node : model.graph.nodes) {
      CHECK_MESSAGE(nodes.insert(node.name).second, node.name << " names two nodes");
      for (const std::string& input : node.inputs) {
        CHECK_MESSAGE(known.contains(input), node.name << " reads " << input);
      }
      for (const std::string& output : node.outputs) {
        CHECK_MESSAGE((output.empty() || known.insert(output).second), output << " is made twice");
      }
    }
    for (const ValueInfo& output : model.graph.outputs) {
      CHECK(known.contains(output.name));
    }
  }
}

}  // namespace

// The counts of Hugging Face's base models (tools/count-published.py) and of torchvision's;
// the Rosetta models' follow from their layers.
TEST_CASE("models_have_as_many_parameters_as_are_published") {
  const std::map<std::string, std::uint64_t> published = {
      {"bert-base-chinese", 102'267'648},
      {"bert-base-cased", 108'310'272},
      {"bert-base-uncased", 109'482'240},
      {"roberta-base", 124'645'632},
      {"distilbert-base-uncased", 66'362'880},
      {"distilbert-base-cased", 65'190'912},
      {"gpt2", 124'439'808},
      {"distilgpt2", 81'912'576},
      {"openai-gpt", 116'534'784},
      {"xlnet-base-cased", 116'718'336},
      {"xlm-mlm-en-2048", 667'088'896},
      {"transfo-xl-wt103", 283'885'936},
      {"ctrl", 1'637'715'456 + 2'560},
      {"llama-135m", 134'515'008},
      {"modernbert-base", 149'014'272},
      {"vit-base", 86'567'656},
      {"resnet-18", 11'689'512},
      {"resnet-50", 25'557'032},
      {"resnet-50-features", 23'508'032},
      {"densenet-121", 7'978'856},
      {"rosetta-cnn", 3'441'592},
      {"rosetta-gru", 3'818'302},
  };
  for (const auto& [name, parameters] : published) {
    const ZooEntry* entry = find_in_zoo(name);
    REQUIRE_MESSAGE(entry != nullptr, name);
    CHECK_MESSAGE(count_weights(*entry).parameters == parameters, name);
  }
}

TEST_CASE("every_zoo_model_is_found_by_its_name") {
  std::set<std::string> names;
  for (const ZooModel& model : zoo()) {
    CHECK(find_in_zoo(model.entry->name) == model.entry);
    CHECK_MESSAGE(names.insert(model.entry->name).second, model.entry->name << " stands twice");
  }
  CHECK(find_in_zoo("no-such-model") == nullptr);
}

TEST_CASE("forms_share_their_weights") {
  for (const ZooModel& model : zoo()) {
    CAPTURE(model.entry->name);
    std::set<std::string> primitive;
    for (const WeightSpec& weight : model.entry->build(Form::kPrimitive).weights) {
      primitive.insert(weight.name);
    }
    std::set<std::string> fused;
    for (const WeightSpec& weight : model.entry->build(Form::kFused).weights) {
      fused.insert(weight.name);
    }
    CHECK(primitive == fused);
  }
}

TEST_CASE("fused_form_keeps_composites_whole_and_the_primitive_form_spells_them_out") {
  const Graph fused = bert_tiny().build(Form::kFused).graph;
  CHECK(count(fused, "ScaledDotProductAttention") == 2);
  CHECK(count(fused, "Gelu") == 2);
  CHECK(count(fused, "LayerNormalization") == 5);
  CHECK(count(fused, "Softmax") == 0);
  const Graph primitive = bert_tiny().build(Form::kPrimitive).graph;
  CHECK(count(primitive, "ScaledDotProductAttention") == 0);
  CHECK(count(primitive, "Erf") == 2);
  CHECK(count(primitive, "Softmax") == 2);
}

TEST_CASE("every_value_is_made_before_it_is_read") {
  for (const ZooModel& model : zoo()) {
    check_order(*model.entry);
    for (const ZooEntry& graph : model.entry->generation) {
      check_order(graph);
    }
  }
}

TEST_CASE("graphs_of_generation_have_the_weights_of_the_whole") {
  const auto names_and_shapes = [](const ZooEntry& entry) {
    std::map<std::string, std::vector<std::int64_t>> weights;
    for (const WeightSpec& weight : entry.build(Form::kPrimitive).weights) {
      weights[weight.name] = weight.shape;
    }
    return weights;
  };
  for (const char* name : {"gpt2", "distilgpt2", "llama-135m"}) {
    CAPTURE(name);
    const ZooEntry* whole = find_in_zoo(name);
    REQUIRE(whole != nullptr);
    for (const char* graph : {":prefill", ":decode"}) {
      const ZooEntry* part = find_in_zoo(std::string(name) + graph);
      REQUIRE(part != nullptr);
      CHECK(names_and_shapes(*part) == names_and_shapes(*whole));
    }
    CHECK(*find_in_zoo(std::string(name) + ":decode")->max_sequence == *whole->max_sequence - 1);
  }
  CHECK(find_in_zoo("bert-tiny:decode") == nullptr);
  CHECK(find_in_zoo("gpt2:encode") == nullptr);
}
