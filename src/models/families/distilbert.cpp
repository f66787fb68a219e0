// SPDX-License-Identifier: Apache-2.0
// DistilBERT (Sanh et al., 2019), as Hugging Face's DistilBertModel computes it.
#include "models/config.h"
#include "models/transformer.h"
#include "models/zoo.h"

namespace touchstone::architectures {
namespace {

constexpr float kEpsilon = 1e-12F;
constexpr float kDeviation = 0.02F;

// Field names are those of Hugging Face's config.json.
struct Config {
  std::int64_t vocab_size = 30522;
  std::int64_t dim = 768;
  std::int64_t n_layers = 6;
  std::int64_t n_heads = 12;
  std::int64_t hidden_dim = 3072;
  std::int64_t max_position_embeddings = 512;
  std::string head = "Model";
  std::int64_t num_labels = 2;
};

std::string layer(GraphBuilder& b, const Config& c, const std::string& scope, const std::string& x,
                  const std::string& mask) {
  const std::string self = scope + ".attention";
  const std::string merged = self_attention(
      b, {self, self + ".q_lin", self + ".k_lin", self + ".v_lin", c.dim, c.n_heads, kDeviation}, x, mask);
  const std::string attended = b.linear(self + ".out_lin", merged, c.dim, c.dim, kDeviation, kBiasDeviation);
  const std::string first = b.layer_norm(scope + ".sa_layer_norm",
                                         b.node("Add", self + "/residual", {attended, x}), c.dim, kEpsilon);
  const std::string wide = b.gelu(
      scope + ".ffn", b.linear(scope + ".ffn.lin1", first, c.dim, c.hidden_dim, kDeviation, kBiasDeviation));
  const std::string narrow =
      b.linear(scope + ".ffn.lin2", wide, c.hidden_dim, c.dim, kDeviation, kBiasDeviation);
  return b.layer_norm(scope + ".output_layer_norm", b.node("Add", scope + "/Add", {narrow, first}), c.dim,
                      kEpsilon);
}

void classifier(GraphBuilder& b, const Config& c, const std::string& x) {
  const std::string first =
      b.node("Gather", "classifier/Gather", {x, b.scalar_int("zero", 0)}, {{"axis", {std::int64_t{1}}}});
  const std::string wide =
      b.relu("pre_classifier", b.linear("pre_classifier", first, c.dim, c.dim, kDeviation, kBiasDeviation));
  b.linear("classifier", wide, c.dim, c.num_labels, kDeviation, kBiasDeviation);
  b.rename_last_output("logits");
  b.output("logits", DataType::kFloat, {"batch", std::to_string(c.num_labels)});
}

ModelDefinition build(const std::string& name, const Config& c, Form form) {
  GraphBuilder b(name, form);
  b.input("input_ids", DataType::kInt64, {"batch", "seq"});
  b.input("attention_mask", DataType::kInt64, {"batch", "seq"});
  const std::string words = embedding(b, "embeddings.word_embeddings.weight", "embeddings/word", "input_ids",
                                      c.vocab_size, c.dim, kDeviation);
  const std::string positions =
      embedding(b, "embeddings.position_embeddings.weight", "embeddings/position",
                position_range(b, "input_ids"), c.max_position_embeddings, c.dim, kDeviation);
  const std::string sum = b.node("Add", "embeddings/Add", {words, positions});
  b.shape_is(sum, {"batch", "seq", std::to_string(c.dim)});
  std::string x = b.layer_norm("embeddings.LayerNorm", sum, c.dim, kEpsilon);
  const std::string mask = padding_mask(b, "attention_mask");
  for (std::int64_t i = 0; i < c.n_layers; ++i) {
    x = layer(b, c, "transformer.layer." + std::to_string(i), x, mask);
  }
  if (c.head == "ForSequenceClassification") {
    classifier(b, c, x);
  } else {
    b.rename_last_output("last_hidden_state");
    b.output("last_hidden_state", DataType::kFloat, {"batch", "seq", std::to_string(c.dim)});
  }
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
  c.vocab_size = fields.size("vocab_size", c.vocab_size);
  c.dim = fields.size("dim", c.dim);
  c.n_layers = fields.size("n_layers", c.n_layers);
  c.n_heads = fields.size("n_heads", c.n_heads);
  c.hidden_dim = fields.size("hidden_dim", c.hidden_dim);
  c.max_position_embeddings = fields.size("max_position_embeddings", c.max_position_embeddings);
  fields.divides("n_heads", c.n_heads, "dim", c.dim);
  fields.expect("activation", "gelu", {"gelu"});
  TOUCHSTONE_TRY(fields.check());
  TOUCHSTONE_ASSIGN(c.head, head_of(json, {"Model", "ForSequenceClassification"}));
  c.num_labels = label_count(json);
  return entry(name, "a checkpoint of DistilBERT", c);
}

}  // namespace

Family distilbert() {
  return {"distilbert",
          {entry("distilbert-base-uncased", "DistilBERT, 30522 lower-case word pieces", {}),
           entry("distilbert-base-cased", "DistilBERT, 28996 cased word pieces", {.vocab_size = 28996})},
          from_config};
}

}  // namespace touchstone::architectures
