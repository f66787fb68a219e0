// SPDX-License-Identifier: Apache-2.0
// Operator cases with something spoilt: the reference answers or says what is wrong, whatever the graph. The
// seed is fixed, so that a failure repeats; under tools/sanitize a read beyond an array's end is a failure
// too.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "../conformance/cases.h"
#include "reference/interpreter.h"

namespace touchstone {
namespace {

using Random = std::mt19937;
constexpr int kMutationsPerCase = 100;
constexpr std::int64_t kFarthest = 9;  // larger numbers only make larger tensors

std::int64_t small_number(Random& random) {
  return std::uniform_int_distribution<std::int64_t>(-kFarthest, kFarthest)(random);
}

std::size_t below(Random& random, std::size_t count) {
  return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
}

void spoil_list(std::vector<std::int64_t>& list, Random& random) {
  switch (below(random, 3)) {
    case 0:
      list.push_back(small_number(random));
      break;
    case 1:
      if (!list.empty()) {
        list.pop_back();
      }
      break;
    default:
      if (!list.empty()) {
        list[below(random, list.size())] = small_number(random);
      }
  }
}

void spoil_attribute(Node& node, Random& random) {
  if (node.attributes.empty()) {
    return;
  }
  auto& value =
      std::next(node.attributes.begin(), static_cast<std::ptrdiff_t>(below(random, node.attributes.size())))
          ->second.value;
  if (auto* number = std::get_if<std::int64_t>(&value)) {
    *number = small_number(random);
  } else if (auto* list = std::get_if<std::vector<std::int64_t>>(&value)) {
    spoil_list(*list, random);
  } else if (auto* text = std::get_if<std::string>(&value)) {
    *text = "spoilt";
  } else {
    value = std::int64_t{1};
  }
}

void spoil_inputs(Node& node, Random& random) {
  if (node.inputs.empty()) {
    return;
  }
  switch (below(random, 3)) {
    case 0:
      node.inputs.pop_back();
      break;
    case 1:
      node.inputs[below(random, node.inputs.size())].clear();
      break;
    default:
      std::swap(node.inputs[below(random, node.inputs.size())],
                node.inputs[below(random, node.inputs.size())]);
  }
}

void spoil_shape(CaseTensor& tensor, Random& random) {
  auto& shape = tensor.spec.shape;
  switch (below(random, 5)) {
    case 0:
      shape = {static_cast<std::int64_t>(element_count(shape))};
      break;
    case 1:
      shape.push_back(1);
      break;
    case 2:
      std::reverse(shape.begin(), shape.end());
      break;
    case 3:
      if (!shape.empty()) {
        shape[below(random, shape.size())] = 0;
        tensor.bytes.clear();
      }
      break;
    default:
      shape.insert(shape.begin(), 1);
  }
}

// Axes, indices and shapes that a graph takes as data.
void spoil_data(CaseTensor& tensor, Random& random) {
  if (tensor.spec.type == DataType::kInt64 && !tensor.bytes.empty()) {
    const std::int64_t number = small_number(random);
    std::copy_n(reinterpret_cast<const std::byte*>(&number), sizeof number,
                tensor.bytes.begin() +
                    static_cast<std::ptrdiff_t>(8 * below(random, tensor.bytes.size() / sizeof number)));
  }
}

void spoil(Case& spoilt, Random& random) {
  Node& node = spoilt.graph.nodes[below(random, spoilt.graph.nodes.size())];
  switch (below(random, 4)) {
    case 0:
      spoil_attribute(node, random);
      break;
    case 1:
      spoil_inputs(node, random);
      break;
    case 2:
      if (!spoilt.inputs.empty()) {
        spoil_shape(spoilt.inputs[below(random, spoilt.inputs.size())], random);
      }
      break;
    default:
      if (!spoilt.inputs.empty()) {
        spoil_data(spoilt.inputs[below(random, spoilt.inputs.size())], random);
      }
  }
}

// A loop without a count ends by its condition, which a spoilt graph may keep true.
bool may_never_end(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.op_type == "Loop" && (node.inputs.empty() || node.inputs[0].empty());
  });
}

// Errors come back; what the harness of a worker would catch is caught here too.
void run(Case spoilt) {
  try {
    auto interpreter = Interpreter::create(std::move(spoilt.graph), 1);
    if (!interpreter) {
      return;
    }
    std::map<std::string, Value> inputs;
    for (const CaseTensor& tensor : spoilt.inputs) {
      auto value = Value::from_bytes(tensor.spec.type, tensor.spec.shape, tensor.bytes);
      if (!value) {
        return;
      }
      inputs.emplace(tensor.spec.name, std::move(*value));
    }
    const auto outputs = (*interpreter)->run(std::move(inputs));
    if (!outputs) {
      CHECK_MESSAGE(!outputs.error().message.empty(), spoilt.name);
    }
  } catch (const std::exception&) {
  }
}

}  // namespace

TEST_CASE("a_spoilt_graph_ends_in_an_answer_or_an_error") {
  const auto cases = read_cases(TOUCHSTONE_CASES);
  REQUIRE(cases);
  Random random(11);
  for (const Case& whole : *cases) {
    for (int i = 0; i < kMutationsPerCase; ++i) {
      Case spoilt = whole;
      spoil(spoilt, random);
      if (!may_never_end(spoilt.graph)) {
        run(std::move(spoilt));
      }
    }
  }
}

}  // namespace touchstone
