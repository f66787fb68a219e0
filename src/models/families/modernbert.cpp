// SPDX-License-Identifier: Apache-2.0
// ModernBERT (Warner et al., 2024), as Hugging Face's ModernBertModel computes it: rotary positions, gated
// units, and attention within a window in two layers of three.
#include <cmath>
#include <limits>

#include "models/config.h"
#include "models/transformer.h"
#include "models/zoo.h"

namespace touchstone::architectures {
namespace {

using Ints = std::vector<std::int64_t>;

// Field names are those of Hugging Face's config.json.
struct Config {
  std::int64_t vocab_size = 50368;
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 22;
  std::int64_t num_attention_heads = 12;
  std::int64_t intermediate_size = 1152;
  std::int64_t max_position_embeddings = 8192;
  std::int64_t global_attn_every_n_layers = 3;
  std::int64_t local_attention = 128;
  float global_rope_theta = 160000;
  float local_rope_theta = 10000;
  float norm_eps = 1e-5F;
  float initializer_range = 0.02F;
};

class ModernBert {
 public:
  ModernBert(const std::string& name, const Config& config, Form form)
      : c_(config), head_(config.hidden_size / config.num_attention_heads), b_(name, form) {}

  ModelDefinition build() && {
    b_.input("input_ids", DataType::kInt64, {"batch", "seq"});
    b_.input("attention_mask", DataType::kInt64, {"batch", "seq"});
    std::string x = embedding(b_, "embeddings.tok_embeddings.weight", "embeddings/Gather", "input_ids",
                              c_.vocab_size, c_.hidden_size, c_.initializer_range);
    x = normal("embeddings.norm", x);
    masks();
    rotary_angles(b_, "rotary/global", "mask/positions", head_, c_.global_rope_theta);
    rotary_angles(b_, "rotary/local", "mask/positions", head_, c_.local_rope_theta);
    for (std::int64_t i = 0; i < c_.num_hidden_layers; ++i) {
      x = layer(i, x);
    }
    normal("final_norm", x);
    b_.rename_last_output("last_hidden_state");
    b_.output("last_hidden_state", DataType::kFloat, {"batch", "seq", std::to_string(c_.hidden_size)});
    return std::move(b_).finish();
  }

 private:
  std::string normal(const std::string& scope, const std::string& x) {
    return b_.node("LayerNormalization", scope + "/LayerNormalization",
                   {x, b_.weight(scope + ".weight", {c_.hidden_size}, 1, 0.02F)},
                   {{"axis", {std::int64_t{-1}}}, {"epsilon", {c_.norm_eps}}});
  }

  std::string project(const std::string& scope, const std::string& x, std::int64_t in, std::int64_t out) {
    return b_.linear_without_bias(scope, x, in, out, c_.initializer_range);
  }

  // mask/global hides padding; mask/local also what is further away than half the window.
  void masks() {
    padding_mask(b_, "attention_mask");
    b_.node("Identity", "mask/positions", {position_range(b_, "input_ids")});
    const std::string keys =
        b_.node("Unsqueeze", "mask/keys", {"mask/positions", b_.constant("axis_0", {0})});
    const std::string queries =
        b_.node("Unsqueeze", "mask/queries", {"mask/positions", b_.constant("axis_1", {1})});
    const std::string distance =
        b_.node("Abs", "mask/Abs", {b_.node("Sub", "mask/distance", {queries, keys})});
    const std::string near = b_.node("LessOrEqual", "mask/LessOrEqual",
                                     {distance, b_.scalar_int("mask/window", c_.local_attention / 2)});
    b_.node("Where", "mask/local",
            {near, "mask/Mul", b_.scalar("mask/lowest", std::numeric_limits<float>::lowest())});
  }

  std::string attention(const std::string& scope, const std::string& x, bool global) {
    const std::string all = project(scope + ".Wqkv", x, c_.hidden_size, 3 * c_.hidden_size);
    const auto part = [&](const std::string& which) { return scope + "/" + which; };
    b_.node_with_outputs("Split", scope + "/Split",
                         {all, b_.constant("thirds", {c_.hidden_size, c_.hidden_size, c_.hidden_size})},
                         {part("query"), part("key"), part("value")}, {{"axis", {std::int64_t{2}}}});
    const auto heads = [&](const std::string& which) {
      return split_heads(b_, part(which), part(which), c_.num_attention_heads, head_, {0, 2, 1, 3});
    };
    const std::string angles = global ? "rotary/global" : "rotary/local";
    const std::string q = rotate_halves(b_, part("query/rotary"), heads("query"), angles, head_);
    const std::string k = rotate_halves(b_, part("key/rotary"), heads("key"), angles, head_);
    const std::string turned =
        b_.node("Transpose", part("key/Transpose_1"), {k}, {{"perm", {Ints{0, 1, 3, 2}}}});
    const std::string mask = global ? "mask/Mul" : "mask/local";
    const std::string context = b_.attention(scope, q, turned, heads("value"), mask, head_);
    return project(scope + ".Wo", merge_heads(b_, scope, context, c_.hidden_size), c_.hidden_size,
                   c_.hidden_size);
  }

  std::string layer(std::int64_t i, const std::string& x) {
    const std::string scope = "layers." + std::to_string(i);
    const std::string first_normal = i == 0 ? x : normal(scope + ".attn_norm", x);
    const bool global = i % c_.global_attn_every_n_layers == 0;
    const std::string first =
        b_.node("Add", scope + "/Add", {x, attention(scope + ".attn", first_normal, global)});
    const std::string mlp = scope + ".mlp";
    const std::string wide =
        project(mlp + ".Wi", normal(scope + ".mlp_norm", first), c_.hidden_size, 2 * c_.intermediate_size);
    b_.node_with_outputs("Split", mlp + "/Split",
                         {wide, b_.constant("gated_halves", {c_.intermediate_size, c_.intermediate_size})},
                         {mlp + "/input", mlp + "/gate"}, {{"axis", {std::int64_t{2}}}});
    const std::string gated = b_.node("Mul", mlp + "/gated", {b_.gelu(mlp, mlp + "/input"), mlp + "/gate"});
    return b_.node("Add", scope + "/Add_1",
                   {first, project(mlp + ".Wo", gated, c_.intermediate_size, c_.hidden_size)});
  }

  const Config& c_;
  std::int64_t head_;
  GraphBuilder b_;
};

ZooEntry entry(const std::string& name, const std::string& description, const Config& config) {
  return {name, description, config.max_position_embeddings, {{"batch", 1}, {"seq", 64}}, [=](Form form) {
            return ModernBert(name, config, form).build();
          }};
}

Result<ZooEntry> from_config(const std::string& name, const nlohmann::json& json) {
  Config c;
  ConfigFields fields(json);
  c.vocab_size = fields.size("vocab_size", c.vocab_size);
  c.hidden_size = fields.size("hidden_size", c.hidden_size);
  c.num_hidden_layers = fields.size("num_hidden_layers", c.num_hidden_layers);
  c.num_attention_heads = fields.size("num_attention_heads", c.num_attention_heads);
  c.intermediate_size = fields.size("intermediate_size", c.intermediate_size);
  c.max_position_embeddings = fields.size("max_position_embeddings", c.max_position_embeddings);
  c.global_attn_every_n_layers = fields.size("global_attn_every_n_layers", c.global_attn_every_n_layers);
  c.local_attention = fields.size("local_attention", c.local_attention);
  c.global_rope_theta = fields.real("global_rope_theta", c.global_rope_theta);
  c.local_rope_theta = fields.real("local_rope_theta", c.local_rope_theta);
  c.norm_eps = fields.real("norm_eps", c.norm_eps);
  fields.divides("num_attention_heads", c.num_attention_heads, "hidden_size", c.hidden_size);
  fields.expect("hidden_activation", "gelu", {"gelu"});
  fields.expect_flag("norm_bias", false);
  fields.expect_flag("attention_bias", false);
  fields.expect_flag("mlp_bias", false);
  TOUCHSTONE_TRY(fields.check());
  TOUCHSTONE_TRY(head_of(json, {"Model"}));
  return entry(name, "a checkpoint of ModernBERT", c);
}

}  // namespace

Family modernbert() {
  return {"modernbert",
          {entry("modernbert-base", "ModernBERT base, 22 layers, 50368 byte pairs", {})},
          from_config};
}

}  // namespace touchstone::architectures
