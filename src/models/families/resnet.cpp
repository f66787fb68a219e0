// SPDX-License-Identifier: Apache-2.0
// ResNet (He et al., 2015) as torchvision builds it: the stride of a bottleneck stands on its 3×3
// convolution.
#include <array>
#include <cmath>

#include "models/zoo.h"

namespace touchstone::architectures {
namespace {

struct Layout {
  std::array<int, 4> blocks;
  bool bottleneck;
  bool classifier;
};

// The last normalisation of a block starts smaller than 1, lest the sums over the blocks grow sixteenfold; a
// trained network's do not.
constexpr float kLastGain = 0.5F;

class ResNet {
 public:
  ResNet(const std::string& name, Layout layout, Form form) : layout_(layout), b_(name, form) {}

  ModelDefinition build() && {
    using Ints = std::vector<std::int64_t>;
    b_.input("images", DataType::kFloat, {"batch", "3", "224", "224"});
    std::string x = b_.convolution("conv1", "images", {.in = 3, .out = 64, .kernel = 7, .stride = 2});
    x = b_.relu("bn1", b_.batch_norm("bn1", x, 64));
    x = b_.node("MaxPool", "maxpool", {x},
                {{"kernel_shape", {Ints{3, 3}}}, {"strides", {Ints{2, 2}}}, {"pads", {Ints{1, 1, 1, 1}}}});
    channels_ = 64;
    for (std::size_t stage = 0; stage < 4; ++stage) {
      for (int i = 0; i < layout_.blocks[stage]; ++i) {
        const std::string scope = "layer" + std::to_string(stage + 1) + "." + std::to_string(i);
        x = block(scope, x, std::int64_t{64} << stage, stage > 0 && i == 0 ? 2 : 1);
      }
    }
    x = b_.node("GlobalAveragePool", "avgpool", {x});
    b_.node("Flatten", "Flatten", {x}, {{"axis", {std::int64_t{1}}}});
    std::string output = "features";
    std::int64_t width = channels_;
    b_.rename_last_output("features");
    if (layout_.classifier) {
      b_.linear("fc", "features", channels_, 1000, 1 / std::sqrt(3.0F * static_cast<float>(channels_)),
                0.02F);
      b_.rename_last_output("logits");
      output = "logits";
      width = 1000;
    }
    b_.output(output, DataType::kFloat, {"batch", std::to_string(width)});
    return std::move(b_).finish();
  }

 private:
  std::string normal(const std::string& convolution, const std::string& norm, const std::string& x,
                     const GraphBuilder::Convolution& shape, float gain = 1) {
    return b_.batch_norm(norm, b_.convolution(convolution, x, shape), shape.out, gain);
  }

  std::string block(const std::string& scope, const std::string& x, std::int64_t width, std::int64_t stride) {
    const std::int64_t out = layout_.bottleneck ? 4 * width : width;
    const auto conv = [&](const std::string& i, const std::string& from, GraphBuilder::Convolution shape,
                          float gain = 1) {
      return normal(scope + ".conv" + i, scope + ".bn" + i, from, shape, gain);
    };
    std::string y;
    if (layout_.bottleneck) {
      y = b_.relu(scope + ".bn1", conv("1", x, {.in = channels_, .out = width, .kernel = 1}));
      y = b_.relu(scope + ".bn2", conv("2", y, {.in = width, .out = width, .kernel = 3, .stride = stride}));
      y = conv("3", y, {.in = width, .out = out, .kernel = 1}, kLastGain);
    } else {
      y = b_.relu(scope + ".bn1",
                  conv("1", x, {.in = channels_, .out = width, .kernel = 3, .stride = stride}));
      y = conv("2", y, {.in = width, .out = width, .kernel = 3}, kLastGain);
    }
    const bool same = stride == 1 && channels_ == out;
    const std::string shortcut = same ? x
                                      : normal(scope + ".downsample.0", scope + ".downsample.1", x,
                                               {.in = channels_, .out = out, .kernel = 1, .stride = stride});
    channels_ = out;
    return b_.relu(scope, b_.node("Add", scope + "/Add", {y, shortcut}));
  }

  Layout layout_;
  GraphBuilder b_;
  std::int64_t channels_ = 0;
};

ZooEntry entry(const std::string& name, const std::string& description, Layout layout) {
  return {
      name, description, {}, {{"batch", 1}}, [=](Form form) { return ResNet(name, layout, form).build(); }};
}

}  // namespace

Family resnet() {
  return {"resnet",
          {entry("resnet-18", "ResNet-18, 224×224, 1000 classes", {{2, 2, 2, 2}, false, true}),
           entry("resnet-50", "ResNet-50, 224×224, 1000 classes", {{3, 4, 6, 3}, true, true}),
           entry("resnet-50-features", "ResNet-50 cut after the average pool: 2048 features",
                 {{3, 4, 6, 3}, true, false})}};
}

}  // namespace touchstone::architectures
