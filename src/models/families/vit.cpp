// SPDX-License-Identifier: Apache-2.0
// ViT (Dosovitskiy et al., 2020), as Hugging Face's ViTModel and ViTForImageClassification compute it.
#include "models/config.h"
#include "models/transformer.h"
#include "models/zoo.h"

namespace touchstone::architectures {
namespace {

// Field names are those of Hugging Face's config.json.
struct Config {
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t intermediate_size = 3072;
  std::int64_t image_size = 224;
  std::int64_t patch_size = 16;
  std::int64_t num_channels = 3;
  float layer_norm_eps = 1e-12F;
  float initializer_range = 0.02F;
  std::string head = "ForImageClassification";
  std::int64_t num_labels = 1000;
};

class Vit {
 public:
  Vit(const std::string& name, const Config& config, Form form) : c_(config), b_(name, form) {}

  ModelDefinition build() && {
    const std::string size = std::to_string(c_.image_size);
    b_.input("pixel_values", DataType::kFloat, {"batch", std::to_string(c_.num_channels), size, size});
    std::string x = embeddings();
    for (std::int64_t i = 0; i < c_.num_hidden_layers; ++i) {
      x = layer("encoder.layer." + std::to_string(i), x);
    }
    b_.layer_norm("layernorm", x, c_.hidden_size, c_.layer_norm_eps);
    b_.rename_last_output("last_hidden_state");
    if (c_.head == "Model") {
      b_.output("last_hidden_state", DataType::kFloat,
                {"batch", std::to_string(patches() + 1), std::to_string(c_.hidden_size)});
    } else {
      const std::string first =
          b_.node("Gather", "classifier/Gather", {"last_hidden_state", b_.scalar_int("zero", 0)},
                  {{"axis", {std::int64_t{1}}}});
      project("classifier", first, c_.hidden_size, c_.num_labels);
      b_.rename_last_output("logits");
      b_.output("logits", DataType::kFloat, {"batch", std::to_string(c_.num_labels)});
    }
    return std::move(b_).finish();
  }

 private:
  std::int64_t patches() const {
    const std::int64_t side = c_.image_size / c_.patch_size;
    return side * side;
  }

  std::string project(const std::string& scope, const std::string& x, std::int64_t in, std::int64_t out) {
    return b_.linear(scope, x, in, out, c_.initializer_range, kBiasDeviation);
  }

  std::string embeddings() {
    using Ints = std::vector<std::int64_t>;
    const std::string scope = "embeddings.patch_embeddings.projection";
    const std::string kernel =
        b_.weight(scope + ".weight", {c_.hidden_size, c_.num_channels, c_.patch_size, c_.patch_size}, 0,
                  c_.initializer_range);
    const std::string bias = b_.weight(scope + ".bias", {c_.hidden_size}, 0, kBiasDeviation);
    const std::string convolved =
        b_.node("Conv", "embeddings/Conv", {"pixel_values", kernel, bias},
                {{"kernel_shape", {Ints(2, c_.patch_size)}}, {"strides", {Ints(2, c_.patch_size)}}});
    const std::string flat = b_.node("Reshape", "embeddings/Reshape",
                                     {convolved, b_.constant("patches_shape", {0, c_.hidden_size, -1})});
    const std::string rows =
        b_.node("Transpose", "embeddings/Transpose", {flat}, {{"perm", {Ints{0, 2, 1}}}});
    // The class token, once for every image.
    const std::string shape = b_.node("Shape", "embeddings/Shape", {"pixel_values"});
    const std::string batch = b_.node("Gather", "embeddings/batch", {shape, b_.constant("start_0", {0})},
                                      {{"axis", {std::int64_t{0}}}});
    const std::string target =
        b_.node("Concat", "embeddings/shape", {batch, b_.constant("one_by_width", {1, c_.hidden_size})},
                {{"axis", {std::int64_t{0}}}});
    const std::string token =
        b_.node("Expand", "embeddings/Expand",
                {b_.weight("embeddings.cls_token", {1, 1, c_.hidden_size}, 0, c_.initializer_range), target});
    const std::string all =
        b_.node("Concat", "embeddings/Concat", {token, rows}, {{"axis", {std::int64_t{1}}}});
    const std::string sum =
        b_.node("Add", "embeddings/Add",
                {all, b_.weight("embeddings.position_embeddings", {1, patches() + 1, c_.hidden_size}, 0,
                                c_.initializer_range)});
    b_.shape_is(sum, {"batch", std::to_string(patches() + 1), std::to_string(c_.hidden_size)});
    return sum;
  }

  std::string layer(const std::string& scope, const std::string& x) {
    const std::string normal =
        b_.layer_norm(scope + ".layernorm_before", x, c_.hidden_size, c_.layer_norm_eps);
    const std::string self = scope + ".attention.attention";
    const std::string merged = self_attention(b_,
                                              {self, self + ".query", self + ".key", self + ".value",
                                               c_.hidden_size, c_.num_attention_heads, c_.initializer_range},
                                              normal, "");
    const std::string attended =
        project(scope + ".attention.output.dense", merged, c_.hidden_size, c_.hidden_size);
    const std::string first = b_.node("Add", scope + "/Add", {attended, x});
    const std::string second =
        b_.layer_norm(scope + ".layernorm_after", first, c_.hidden_size, c_.layer_norm_eps);
    const std::string wide = b_.gelu(scope + ".intermediate", project(scope + ".intermediate.dense", second,
                                                                      c_.hidden_size, c_.intermediate_size));
    const std::string narrow = project(scope + ".output.dense", wide, c_.intermediate_size, c_.hidden_size);
    return b_.node("Add", scope + "/Add_1", {narrow, first});
  }

  const Config& c_;
  GraphBuilder b_;
};

ZooEntry entry(const std::string& name, const std::string& description, const Config& config) {
  return {name, description, {}, {{"batch", 1}}, [=](Form form) { return Vit(name, config, form).build(); }};
}

Result<ZooEntry> from_config(const std::string& name, const nlohmann::json& json) {
  Config c;
  ConfigFields fields(json);
  c.hidden_size = fields.size("hidden_size", c.hidden_size);
  c.num_hidden_layers = fields.size("num_hidden_layers", c.num_hidden_layers);
  c.num_attention_heads = fields.size("num_attention_heads", c.num_attention_heads);
  c.intermediate_size = fields.size("intermediate_size", c.intermediate_size);
  c.image_size = fields.size("image_size", c.image_size);
  c.patch_size = fields.size("patch_size", c.patch_size);
  c.num_channels = fields.size("num_channels", c.num_channels);
  c.layer_norm_eps = fields.real("layer_norm_eps", c.layer_norm_eps);
  fields.divides("num_attention_heads", c.num_attention_heads, "hidden_size", c.hidden_size);
  fields.divides("patch_size", c.patch_size, "image_size", c.image_size);
  fields.expect("hidden_act", "gelu", {"gelu"});
  fields.expect_flag("qkv_bias", true);
  TOUCHSTONE_TRY(fields.check());
  TOUCHSTONE_ASSIGN(c.head, head_of(json, {"Model", "ForImageClassification"}));
  c.num_labels = label_count(json);
  return entry(name, "a checkpoint of ViT", c);
}

}  // namespace

Family vit() {
  return {"vit", {entry("vit-base", "ViT base, patches of 16, 224×224, 1000 classes", {})}, from_config};
}

}  // namespace touchstone::architectures
