// SPDX-License-Identifier: Apache-2.0
// GPT (Radford et al., 2018), as Hugging Face's OpenAIGPTModel computes it: LayerNorm after the residual.
#include "models/config.h"
#include "models/transformer.h"
#include "models/zoo.h"

namespace touchstone::architectures {
namespace {

// Field names are those of Hugging Face's config.json.
struct Config {
  std::int64_t vocab_size = 40478;
  std::int64_t n_positions = 512;
  std::int64_t n_embd = 768;
  std::int64_t n_layer = 12;
  std::int64_t n_head = 12;
  float layer_norm_epsilon = 1e-5F;
};

constexpr float kDeviation = 0.02F;

ModelDefinition build(const std::string& name, const Config& c, Form form) {
  GraphBuilder b(name, form);
  b.input("input_ids", DataType::kInt64, {"batch", "seq"});
  b.input("attention_mask", DataType::kInt64, {"batch", "seq"});
  const std::string words = embedding(b, "tokens_embed.weight", "tokens_embed/Gather", "input_ids",
                                      c.vocab_size, c.n_embd, kDeviation);
  const std::string positions =
      embedding(b, "positions_embed.weight", "positions_embed/Gather", position_range(b, "input_ids"),
                c.n_positions, c.n_embd, kDeviation);
  std::string x = b.node("Add", "embeddings/Add", {words, positions});
  b.shape_is(x, {"batch", "seq", std::to_string(c.n_embd)});
  const std::string mask = causal_mask(b, "input_ids", "attention_mask");
  for (std::int64_t i = 0; i < c.n_layer; ++i) {
    const std::string scope = "h." + std::to_string(i);
    const std::string merged = joint_attention(b, {scope + ".attn", c.n_embd, c.n_head, kDeviation}, x, mask);
    const std::string attended =
        b.projection(scope + ".attn.c_proj", merged, c.n_embd, c.n_embd, kDeviation, kBiasDeviation);
    const std::string first = b.layer_norm(scope + ".ln_1", b.node("Add", scope + "/Add", {x, attended}),
                                           c.n_embd, c.layer_norm_epsilon);
    const std::string wide = b.gelu_tanh(
        scope + ".mlp",
        b.projection(scope + ".mlp.c_fc", first, c.n_embd, 4 * c.n_embd, kDeviation, kBiasDeviation));
    const std::string narrow =
        b.projection(scope + ".mlp.c_proj", wide, 4 * c.n_embd, c.n_embd, kDeviation, kBiasDeviation);
    x = b.layer_norm(scope + ".ln_2", b.node("Add", scope + "/Add_1", {first, narrow}), c.n_embd,
                     c.layer_norm_epsilon);
  }
  b.rename_last_output("last_hidden_state");
  b.output("last_hidden_state", DataType::kFloat, {"batch", "seq", std::to_string(c.n_embd)});
  return std::move(b).finish();
}

ZooEntry entry(const std::string& name, const std::string& description, const Config& config) {
  return {name, description, config.n_positions, {{"batch", 1}, {"seq", 64}}, [=](Form form) {
            return build(name, config, form);
          }};
}

Result<ZooEntry> from_config(const std::string& name, const nlohmann::json& json) {
  Config c;
  ConfigFields fields(json);
  c.vocab_size = fields.size("vocab_size", c.vocab_size);
  c.n_positions = fields.size("n_positions", c.n_positions);
  c.n_embd = fields.size("n_embd", c.n_embd);
  c.n_layer = fields.size("n_layer", c.n_layer);
  c.n_head = fields.size("n_head", c.n_head);
  c.layer_norm_epsilon = fields.real("layer_norm_epsilon", c.layer_norm_epsilon);
  fields.divides("n_head", c.n_head, "n_embd", c.n_embd);
  fields.expect("afn", "gelu", {"gelu"});  // which is the tanh form there
  TOUCHSTONE_TRY(fields.check());
  TOUCHSTONE_TRY(head_of(json, {"Model"}));
  return entry(name, "a checkpoint of GPT", c);
}

}  // namespace

Family openai_gpt() {
  return {"openai-gpt", {entry("openai-gpt", "GPT, 40478 byte pairs", {})}, from_config};
}

}  // namespace touchstone::architectures
