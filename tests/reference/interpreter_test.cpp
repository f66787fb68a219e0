// SPDX-License-Identifier: Apache-2.0
// What the interpreter says of graphs that do not fit together. What its operators compute is in
// tests/conformance.
#include "reference/interpreter.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "reference/operators.h"

namespace touchstone {
namespace {

Node node(const std::string& operator_name, std::vector<std::string> inputs,
          std::vector<std::string> outputs) {
  Node made;
  made.name = "node_of_" + outputs.front();
  made.op_type = operator_name;
  made.inputs = std::move(inputs);
  made.outputs = std::move(outputs);
  return made;
}

Graph graph_of(const std::string& operator_name, std::vector<std::string> inputs) {
  Graph graph;
  graph.opsets[""] = 17;
  graph.nodes = {node(operator_name, std::move(inputs), {"y"})};
  graph.nodes.front().name = "the_node";
  graph.outputs.push_back({"y", DataType::kFloat, {}});
  return graph;
}

Result<std::vector<Value>> run(const Graph& graph, std::map<std::string, Value> inputs) {
  auto interpreter = Interpreter::create(graph, 1);
  REQUIRE(interpreter);
  return (*interpreter)->run(std::move(inputs));
}

Value numbers() {
  return Value::reals({2, 2}, {1, 2, 3, 4});
}

// v = v + x with each iteration, each v stacked into a second output; x is a value of the graph around it.
Graph adding_body() {
  Graph body;
  const std::vector<Dimension> square = {{2, ""}, {2, ""}};
  body.inputs = {
      {"i", DataType::kInt64, {}}, {"again", DataType::kBool, {}}, {"v", DataType::kFloat, square}};
  body.nodes = {node("Identity", {"again"}, {"goes_on"}), node("Add", {"v", "x"}, {"next"}),
                node("Identity", {"next"}, {"seen"})};
  body.outputs = {{"goes_on", DataType::kBool, {}},
                  {"next", DataType::kFloat, square},
                  {"seen", DataType::kFloat, square}};
  return body;
}

Graph loop_of(Graph body, std::vector<std::string> inputs) {
  Graph graph = graph_of("Loop", std::move(inputs));
  Node& loop = graph.nodes.front();
  loop.outputs = {"y", "all"};
  loop.attributes.emplace("body", Attribute{std::make_shared<Graph>(std::move(body))});
  graph.outputs.push_back({"all", DataType::kFloat, {}});
  return graph;
}

}  // namespace

TEST_CASE("an_unknown_operator_is_named") {
  const auto interpreter = Interpreter::create(graph_of("Frobnicate", {"x"}), 1);
  REQUIRE(!interpreter);
  CHECK(interpreter.error().reason == Reason::kUnsupportedOperator);
  CHECK(interpreter.error().message.find("Frobnicate") != std::string::npos);
  CHECK(interpreter.error().message.find("the_node") != std::string::npos);
}

TEST_CASE("a_missing_input_is_an_error_that_names_the_node") {
  const auto outputs = run(graph_of("Add", {"x"}), {{"x", numbers()}});
  REQUIRE(!outputs);
  CHECK(outputs.error().message.find("the_node") != std::string::npos);
}

TEST_CASE("a_value_that_nothing_makes_is_an_error") {
  const auto outputs = run(graph_of("Add", {"x", "nowhere"}), {{"x", numbers()}});
  REQUIRE(!outputs);
  CHECK(outputs.error().message.find("nowhere") != std::string::npos);
}

TEST_CASE("integers_where_reals_are_wanted_are_an_error") {
  CHECK(!run(graph_of("Softmax", {"x"}), {{"x", Value::ints({2}, {1, 2})}}));
  CHECK(!run(graph_of("Gather", {"x", "x"}), {{"x", numbers()}}));
}

TEST_CASE("shapes_that_do_not_multiply_are_an_error_that_shows_both") {
  const auto outputs =
      run(graph_of("MatMul", {"x", "w"}), {{"x", numbers()}, {"w", Value::reals({3, 1}, {1, 2, 3})}});
  REQUIRE(!outputs);
  CHECK(outputs.error().message.find("[2,2]") != std::string::npos);
  CHECK(outputs.error().message.find("[3,1]") != std::string::npos);
}

TEST_CASE("the_same_outputs_come_on_one_thread_and_on_two") {
  const Graph graph = graph_of("MatMul", {"x", "w"});
  std::vector<double> left(64 * 96), right(96 * 80);
  for (std::size_t i = 0; i < left.size(); ++i) {
    left[i] = static_cast<double>(i % 17) - 8;
  }
  for (std::size_t i = 0; i < right.size(); ++i) {
    right[i] = static_cast<double>(i % 13) / 7;
  }
  const std::map<std::string, Value> inputs = {{"x", Value::reals({64, 96}, left)},
                                               {"w", Value::reals({96, 80}, right)}};
  const auto on = [&](int threads) {
    auto interpreter = Interpreter::create(graph, threads);
    REQUIRE(interpreter);
    const auto outputs = (*interpreter)->run(inputs);
    REQUIRE(outputs);
    return std::vector<double>(outputs->front().d().begin(), outputs->front().d().end());
  };
  CHECK(on(1) == on(2));
}

TEST_CASE("a_loop_without_an_iteration_gives_what_it_was_given_and_an_empty_stack") {
  const auto outputs = run(loop_of(adding_body(), {"most", "", "v"}),
                           {{"x", numbers()}, {"v", numbers()}, {"most", Value::ints({}, {0})}});
  REQUIRE(outputs);
  CHECK((*outputs)[0].shape() == Shape{2, 2});
  CHECK((*outputs)[0].number(3) == 4);
  CHECK((*outputs)[1].shape() == Shape{0, 2, 2});
}

TEST_CASE("a_body_reads_the_values_around_it") {
  const auto outputs = run(loop_of(adding_body(), {"most", "", "v"}),
                           {{"x", numbers()}, {"v", numbers()}, {"most", Value::ints({}, {2})}});
  REQUIRE(outputs);
  CHECK((*outputs)[0].number(3) == 12);
  CHECK((*outputs)[1].shape() == Shape{2, 2, 2});
  CHECK((*outputs)[1].number(3) == 8);
}

TEST_CASE("a_body_that_does_not_fit_its_node_is_an_error_that_names_the_node") {
  const auto outputs = run(loop_of(adding_body(), {"most", "", "v", "v"}),
                           {{"x", numbers()}, {"v", numbers()}, {"most", Value::ints({}, {1})}});
  REQUIRE(!outputs);
  CHECK(outputs.error().message.find("the_node") != std::string::npos);
}

TEST_CASE("an_error_inside_a_body_is_an_error_of_the_run") {
  Graph body = adding_body();
  body.nodes[1].inputs[1] = "nowhere";
  const auto outputs =
      run(loop_of(body, {"most", "", "v"}), {{"v", numbers()}, {"most", Value::ints({}, {1})}});
  REQUIRE(!outputs);
  CHECK(outputs.error().message.find("nowhere") != std::string::npos);
}

TEST_CASE("a_node_without_the_graph_it_needs_is_an_error_that_names_it") {
  const auto outputs = run(graph_of("If", {"c"}), {{"c", Value::ints({}, {1}, DataType::kBool)}});
  REQUIRE(!outputs);
  CHECK(outputs.error().message.find("the_node") != std::string::npos);
}

TEST_CASE("a_hundred_and_fifty_operators_of_the_default_domain_are_known") {
  const auto known = reference_operators();
  const auto own = std::count_if(known.begin(), known.end(),
                                 [](const std::string& name) { return name.find('.') == std::string::npos; });
  MESSAGE(own << " operators");
  CHECK(own >= 150);
}

}  // namespace touchstone
