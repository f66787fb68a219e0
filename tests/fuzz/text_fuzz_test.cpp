// SPDX-License-Identifier: Apache-2.0
// Whatever comes over a pipe or out of a text file is answered, never fallen over.
#include <doctest/doctest.h>

#include <random>

#include "bench/plan.h"
#include "graph/bundle.h"
#include "results/published.h"
#include "support/command.h"
#include "worker/protocol.h"

namespace touchstone {
namespace {

using nlohmann::json;
using Random = std::mt19937;

std::string spoilt(std::string text, Random& random) {
  static const std::string kBits = "{}[]\",:=\n\0\xff#-0e9x";
  for (int change = 0; change < 3 && !text.empty(); ++change) {
    const std::size_t at = std::uniform_int_distribution<std::size_t>(0, text.size() - 1)(random);
    switch (random() % 4) {
      case 0:
        text[at] = kBits[random() % kBits.size()];
        break;
      case 1:
        text.erase(at, 1 + random() % 8);
        break;
      case 2:
        text.insert(at, text.substr(at / 2, 1 + random() % 16));
        break;
      default:
        text.resize(random() % 10 == 0 ? at : text.size());
    }
  }
  return text;
}

// Turns one value somewhere into another kind.
json spoilt(json value, Random& random) {
  json* at = &value;
  while (at->is_structured() && !at->empty() && random() % 4 != 0) {
    at = &*std::next(at->begin(), static_cast<std::ptrdiff_t>(random() % at->size()));
  }
  static const std::vector<json> kOthers = {nullptr,
                                            -1,
                                            1e300,
                                            "text",
                                            json::array(),
                                            json::object(),
                                            true,
                                            18446744073709551615ULL,
                                            {1, "two", nullptr}};
  *at = kOthers[random() % kOthers.size()];
  return value;
}

// What the harness and the driver do around a message.
template <class Read>
void must_not_fall_over(Read read) {
  try {
    [[maybe_unused]] const auto result = read();
  } catch (const json::exception&) {
  }
}

}  // namespace

TEST_CASE("spoilt_messages_of_the_protocol_are_refused") {
  Random random(3);
  const json measure = to_json(MeasureRequest{});
  const json reply = to_json(MeasureReply{});
  const json places = {{{"name", "x"}, {"type", "float32"}, {"shape", {2, 3}}, {"offset", 0}, {"size", 24}}};
  std::vector<std::byte> memory(64);
  for (int i = 0; i < 3000; ++i) {
    must_not_fall_over([&] { return measure_request_from_json(spoilt(measure, random)); });
    must_not_fall_over([&] { return measure_reply_from_json(spoilt(reply, random)); });
    must_not_fall_over([&] { return conditions_from_json(spoilt(to_json(Conditions{}), random)); });
    must_not_fall_over([&]() -> Result<std::vector<TensorView>> {
      TOUCHSTONE_ASSIGN(const auto read, tensor_places_from_json(spoilt(places, random)));
      return view_tensors(read, memory);
    });
  }
}

TEST_CASE("spoilt_graphs_as_text_are_refused") {
  Random random(4);
  Graph graph;
  graph.opsets = {{"", 17}};
  graph.inputs = {{"x", DataType::kFloat, std::vector<Dimension>{{2, ""}, {std::nullopt, "batch"}}}};
  graph.outputs = {{"y", DataType::kFloat, std::nullopt}};
  const std::vector<float> numbers = {1, 2};
  graph.initializers["w"] = make_constant<float>(DataType::kFloat, {2}, numbers);
  Node node{"n", "Gemm", "", {"x", "w"}, {"y"}, {}};
  node.attributes["transB"].value = std::int64_t{1};
  node.attributes["perm"].value = std::vector<std::int64_t>{1, 0};
  graph.nodes = {node};
  const json whole = to_json(graph);
  for (int i = 0; i < 3000; ++i) {
    must_not_fall_over([&] { return graph_from_json(spoilt(whole, random)); });
    must_not_fall_over([&] { return graph_from_json(json::parse(spoilt(whole.dump(), random))); });
  }
}

TEST_CASE("spoilt_plans_and_tables_are_refused") {
  Random random(5);
  const TemporaryFolder folder;
  const std::string plan =
      "model = \"bert-tiny\"\nengines = [\"onnxruntime\", \"pytorch:eager\"]\nbatch = [1, 2]\nseq = "
      "\"8..64\"\n"
      "budget = \"10s\"\nprecision-target = \"2%\"\n[options.onnxruntime]\ngraph_optimization_level = "
      "\"all\"\n";
  const std::string table =
      read_text(std::string(TOUCHSTONE_TEST_DATA) + "/../../data/published/bert-chinese-five-engines.csv");
  REQUIRE(!table.empty());
  for (int i = 0; i < 300; ++i) {
    write_text(folder / "plan.toml", spoilt(plan, random));
    [[maybe_unused]] const auto read = read_plans(folder / "plan.toml");
    write_text(folder / "table.csv", spoilt(table, random));
    [[maybe_unused]] const auto imported = read_published(folder / "table.csv");
  }
}

}  // namespace touchstone
