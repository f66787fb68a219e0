// SPDX-License-Identifier: Apache-2.0
// The GRU for IMDB of the Rosetta Stone of frameworks (data/published/): 30,000 words in 125 dimensions, 100
// units, the last output, 2 classes. The cell is that of cuDNN and PyTorch: the reset gate after the product.
#include <cmath>

#include "models/zoo.h"

namespace touchstone::architectures {
namespace {

constexpr std::int64_t kWords = 30000;
constexpr std::int64_t kWidth = 125;
constexpr std::int64_t kUnits = 100;

ModelDefinition build(const std::string& name, Form form) {
  GraphBuilder b(name, form);
  b.input("words", DataType::kInt64, {"batch", "seq"});
  // PyTorch starts recurrent weights uniformly within 1/√units; a normal of the same variance.
  const float deviation = 1 / std::sqrt(3.0F * kUnits);
  // PyTorch's Embedding starts as a standard normal.
  const std::string x =
      b.node("Gather", "embedding/Gather", {b.weight("embedding.weight", {kWords, kWidth}, 0, 1), "words"});
  const std::string steps =
      b.node("Transpose", "embedding/Transpose", {x}, {{"perm", {std::vector<std::int64_t>{1, 0, 2}}}});
  b.node_with_outputs("GRU", "gru",
                      {steps, b.weight("gru.W", {1, 3 * kUnits, kWidth}, 0, deviation),
                       b.weight("gru.R", {1, 3 * kUnits, kUnits}, 0, deviation),
                       b.weight("gru.B", {1, 6 * kUnits}, 0, deviation)},
                      {"", "gru/last"},
                      {{"hidden_size", {kUnits}}, {"linear_before_reset", {std::int64_t{1}}}});
  const std::string last = b.node("Squeeze", "gru/Squeeze", {"gru/last", b.constant("axis_0", {0})});
  b.linear("fc", last, kUnits, 2, deviation, deviation);
  b.rename_last_output("logits");
  b.output("logits", DataType::kFloat, {"batch", "2"});
  return std::move(b).finish();
}

}  // namespace

Family rosetta_gru() {
  const std::string name = "rosetta-gru";
  return {"rosetta-gru",
          {{name, "GRU for IMDB, 30,000 words", {}, {{"batch", 1}, {"seq", 150}}, [=](Form form) {
              return build(name, form);
            }}}};
}

}  // namespace touchstone::architectures
