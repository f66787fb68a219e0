// SPDX-License-Identifier: Apache-2.0
// DenseNet-121 (Huang et al., 2016) as torchvision builds it.
#include <array>
#include <cmath>

#include "models/zoo.h"

namespace touchstone::architectures {
namespace {

constexpr std::int64_t kGrowth = 32;
constexpr std::array<int, 4> kBlocks = {6, 12, 24, 16};

using Ints = std::vector<std::int64_t>;

std::string normal_relu(GraphBuilder& b, const std::string& scope, const std::string& x,
                        std::int64_t channels) {
  return b.relu(scope, b.batch_norm(scope, x, channels));
}

std::string dense_layer(GraphBuilder& b, const std::string& scope, const std::string& x,
                        std::int64_t channels) {
  std::string y = normal_relu(b, scope + ".norm1", x, channels);
  y = b.convolution(scope + ".conv1", y,
                    {.in = channels, .out = 4 * kGrowth, .kernel = 1, .by_fan_in = true});
  y = normal_relu(b, scope + ".norm2", y, 4 * kGrowth);
  y = b.convolution(scope + ".conv2", y, {.in = 4 * kGrowth, .out = kGrowth, .kernel = 3, .by_fan_in = true});
  return b.node("Concat", scope + "/Concat", {x, y}, {{"axis", {std::int64_t{1}}}});
}

ModelDefinition build(const std::string& name, Form form) {
  GraphBuilder b(name, form);
  b.input("images", DataType::kFloat, {"batch", "3", "224", "224"});
  std::string x = b.convolution("features.conv0", "images",
                                {.in = 3, .out = 64, .kernel = 7, .stride = 2, .by_fan_in = true});
  x = b.node("MaxPool", "features.pool0", {normal_relu(b, "features.norm0", x, 64)},
             {{"kernel_shape", {Ints{3, 3}}}, {"strides", {Ints{2, 2}}}, {"pads", {Ints{1, 1, 1, 1}}}});
  std::int64_t channels = 64;
  for (std::size_t block = 0; block < kBlocks.size(); ++block) {
    const std::string number = std::to_string(block + 1);
    for (int i = 0; i < kBlocks[block]; ++i) {
      x = dense_layer(b, "features.denseblock" + number + ".denselayer" + std::to_string(i + 1), x, channels);
      channels += kGrowth;
    }
    if (block + 1 < kBlocks.size()) {
      const std::string scope = "features.transition" + number;
      x = normal_relu(b, scope + ".norm", x, channels);
      x = b.convolution(scope + ".conv", x,
                        {.in = channels, .out = channels / 2, .kernel = 1, .by_fan_in = true});
      x = b.node("AveragePool", scope + ".pool", {x},
                 {{"kernel_shape", {Ints{2, 2}}}, {"strides", {Ints{2, 2}}}});
      channels /= 2;
    }
  }
  x = normal_relu(b, "features.norm5", x, channels);
  x = b.node("Flatten", "Flatten", {b.node("GlobalAveragePool", "avgpool", {x})},
             {{"axis", {std::int64_t{1}}}});
  b.linear("classifier", x, channels, 1000, 1 / std::sqrt(3.0F * static_cast<float>(channels)), 0.02F);
  b.rename_last_output("logits");
  b.output("logits", DataType::kFloat, {"batch", "1000"});
  return std::move(b).finish();
}

}  // namespace

Family densenet() {
  const std::string name = "densenet-121";
  return {"densenet", {{name, "DenseNet-121, 224×224, 1000 classes", {}, {{"batch", 1}}, [=](Form form) {
                          return build(name, form);
                        }}}};
}

}  // namespace touchstone::architectures
