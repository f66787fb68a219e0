// SPDX-License-Identifier: Apache-2.0
// XLM (Lample and Conneau, 2019), one language, masked-language-model pretraining, as Hugging Face's XLMModel
// computes it.
#include <cmath>

#include "models/config.h"
#include "models/transformer.h"
#include "models/zoo.h"

namespace touchstone::architectures {
namespace {

// Field names are those of Hugging Face's config.json.
struct Config {
  std::int64_t vocab_size = 30145;
  std::int64_t emb_dim = 2048;
  std::int64_t n_layers = 12;
  std::int64_t n_heads = 16;
  std::int64_t max_position_embeddings = 512;
  float layer_norm_eps = 1e-12F;
  float init_std = 0.02F;
};

// Rows of padding are set to zero: x·mask, [batch, seq, width] by [batch, seq, 1].
std::string without_padding(GraphBuilder& b, const std::string& name, const std::string& x) {
  return b.node("Mul", name, {x, "padding/Cast"});
}

std::string layer(GraphBuilder& b, const Config& c, std::int64_t i, const std::string& x,
                  const std::string& mask) {
  const std::string number = std::to_string(i);
  const auto linear = [&](const std::string& scope, const std::string& from, std::int64_t in,
                          std::int64_t out) {
    return b.linear(scope, from, in, out, c.init_std, kBiasDeviation);
  };
  const std::string self = "attentions." + number;
  const std::string merged = self_attention(
      b, {self, self + ".q_lin", self + ".k_lin", self + ".v_lin", c.emb_dim, c.n_heads, c.init_std}, x,
      mask);
  const std::string attended = linear(self + ".out_lin", merged, c.emb_dim, c.emb_dim);
  const std::string first = b.layer_norm(
      "layer_norm1." + number, b.node("Add", self + "/residual", {x, attended}), c.emb_dim, c.layer_norm_eps);
  const std::string ffn = "ffns." + number;
  const std::string wide = b.gelu(ffn, linear(ffn + ".lin1", first, c.emb_dim, 4 * c.emb_dim));
  const std::string narrow = linear(ffn + ".lin2", wide, 4 * c.emb_dim, c.emb_dim);
  const std::string second =
      b.layer_norm("layer_norm2." + number, b.node("Add", ffn + "/residual", {first, narrow}), c.emb_dim,
                   c.layer_norm_eps);
  return without_padding(b, "layer" + number + "/Mul", second);
}

ModelDefinition build(const std::string& name, const Config& c, Form form) {
  GraphBuilder b(name, form);
  b.input("input_ids", DataType::kInt64, {"batch", "seq"});
  b.input("attention_mask", DataType::kInt64, {"batch", "seq"});
  const float deviation = 1 / std::sqrt(static_cast<float>(c.emb_dim));
  const std::string words =
      embedding(b, "embeddings.weight", "embeddings/Gather", "input_ids", c.vocab_size, c.emb_dim, deviation);
  const std::string positions =
      embedding(b, "position_embeddings.weight", "position_embeddings/Gather", position_range(b, "input_ids"),
                c.max_position_embeddings, c.emb_dim, deviation);
  const std::string sum = b.node("Add", "embeddings/Add", {words, positions});
  b.shape_is(sum, {"batch", "seq", std::to_string(c.emb_dim)});
  const std::string column =
      b.node("Unsqueeze", "padding/Unsqueeze", {"attention_mask", b.constant("axis_2", {2})});
  b.node("Cast", "padding/Cast", {column}, {{"to", {std::int64_t{1}}}});
  std::string x =
      without_padding(b, "embeddings/Mul", b.layer_norm("layer_norm_emb", sum, c.emb_dim, c.layer_norm_eps));
  const std::string mask = padding_mask(b, "attention_mask");
  for (std::int64_t i = 0; i < c.n_layers; ++i) {
    x = layer(b, c, i, x, mask);
  }
  b.rename_last_output("last_hidden_state");
  b.output("last_hidden_state", DataType::kFloat, {"batch", "seq", std::to_string(c.emb_dim)});
  return std::move(b).finish();
}

ZooEntry entry(const std::string& name, const std::string& description, const Config& config) {
  return {name, description, config.max_position_embeddings, {{"batch", 1}, {"seq", 64}}, [=](Form form) {
            return build(name, config, form);
          }};
}

Result<ZooEntry> from_config(const std::string& name, const nlohmann::json& json) {
  Config c;
  ConfigFields fields(json);
  c.vocab_size = fields.size(json.contains("vocab_size") ? "vocab_size" : "n_words", c.vocab_size);
  c.emb_dim = fields.size("emb_dim", c.emb_dim);
  c.n_layers = fields.size("n_layers", c.n_layers);
  c.n_heads = fields.size("n_heads", c.n_heads);
  c.max_position_embeddings = fields.size("max_position_embeddings", c.max_position_embeddings);
  c.layer_norm_eps = fields.real("layer_norm_eps", c.layer_norm_eps);
  fields.divides("n_heads", c.n_heads, "emb_dim", c.emb_dim);
  fields.expect_flag("gelu_activation", true);
  fields.expect_flag("sinusoidal_embeddings", false);
  fields.expect_flag("causal", false);
  if (fields.size("n_langs", 1) > 1 && fields.flag("use_lang_emb", true)) {
    return fail(Reason::kUnsupported, "config.json: 'n_langs' is {}; language embeddings are not built",
                fields.size("n_langs", 1));
  }
  TOUCHSTONE_TRY(fields.check());
  TOUCHSTONE_TRY(head_of(json, {"Model"}));
  return entry(name, "a checkpoint of XLM", c);
}

}  // namespace

Family xlm() {
  return {"xlm", {entry("xlm-mlm-en-2048", "XLM, 12 layers, width 2048, English", {})}, from_config};
}

}  // namespace touchstone::architectures
