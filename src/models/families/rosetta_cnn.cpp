// SPDX-License-Identifier: Apache-2.0
// The VGG-style network for CIFAR-10 of the Rosetta Stone of frameworks (data/published/): four 3×3
// convolutions of 50, 50, 100 and 100 channels, two 2×2 max pools, 512 units, 10 classes.
#include <cmath>

#include "models/zoo.h"

namespace touchstone::architectures {
namespace {

std::string max_pool(GraphBuilder& b, const std::string& name, const std::string& x) {
  using Ints = std::vector<std::int64_t>;
  return b.node("MaxPool", name, {x}, {{"kernel_shape", {Ints{2, 2}}}, {"strides", {Ints{2, 2}}}});
}

// Weights as Glorot's normal, which the study's frameworks start with.
std::string dense(GraphBuilder& b, const std::string& scope, const std::string& x, std::int64_t in,
                  std::int64_t out) {
  return b.linear(scope, x, in, out, std::sqrt(2.0F / static_cast<float>(in + out)), 0.02F);
}

ModelDefinition build(const std::string& name, Form form) {
  GraphBuilder b(name, form);
  b.input("images", DataType::kFloat, {"batch", "3", "32", "32"});
  const auto convolution = [&](const std::string& scope, const std::string& x, std::int64_t in,
                               std::int64_t out) {
    return b.relu(scope, b.convolution(scope, x, {.in = in, .out = out, .kernel = 3, .bias = true}));
  };
  std::string x = convolution("conv1", "images", 3, 50);
  x = max_pool(b, "pool1", convolution("conv2", x, 50, 50));
  x = convolution("conv3", x, 50, 100);
  x = max_pool(b, "pool2", convolution("conv4", x, 100, 100));
  x = b.node("Flatten", "Flatten", {x}, {{"axis", {std::int64_t{1}}}});
  x = b.relu("fc1", dense(b, "fc1", x, 100 * 8 * 8, 512));
  dense(b, "fc2", x, 512, 10);
  b.rename_last_output("logits");
  b.output("logits", DataType::kFloat, {"batch", "10"});
  return std::move(b).finish();
}

}  // namespace

Family rosetta_cnn() {
  const std::string name = "rosetta-cnn";
  return {"rosetta-cnn", {{name, "VGG-style network for CIFAR-10, 32×32", {}, {{"batch", 1}}, [=](Form form) {
                             return build(name, form);
                           }}}};
}

}  // namespace touchstone::architectures
