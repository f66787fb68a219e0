// SPDX-License-Identifier: Apache-2.0
// GPT-2 (Radford et al., 2019), as Hugging Face's GPT2Model and GPT2LMHeadModel compute it.
#include <cmath>

#include "models/config.h"
#include "models/decoder_phase.h"
#include "models/transformer.h"
#include "models/zoo.h"

namespace touchstone::architectures {
namespace {

// Field names are those of Hugging Face's config.json.
struct Config {
  std::int64_t vocab_size = 50257;
  std::int64_t n_positions = 1024;
  std::int64_t n_embd = 768;
  std::int64_t n_layer = 12;
  std::int64_t n_head = 12;
  std::int64_t n_inner = 0;  // 0: 4 · n_embd
  float layer_norm_epsilon = 1e-5F;
  float initializer_range = 0.02F;
  bool exact_gelu = false;
  std::string head = "Model";
};

class Gpt2 {
 public:
  Gpt2(const std::string& name, const Config& config, Form form, Phase phase)
      : c_(config),
        b_(name, form),
        phase_(b_, phase, {c_.n_layer, c_.n_head, c_.n_embd / c_.n_head, c_.vocab_size}) {}

  ModelDefinition build() && {
    const std::string words = embedding(b_, "wte.weight", "wte/Gather", "input_ids", c_.vocab_size, c_.n_embd,
                                        c_.initializer_range);
    const std::string positions = embedding(b_, "wpe.weight", "wpe/Gather", phase_.positions(),
                                            c_.n_positions, c_.n_embd, c_.initializer_range);
    std::string x = b_.node("Add", "embeddings/Add", {words, positions});
    b_.shape_is(x, {"batch", phase_.length(), std::to_string(c_.n_embd)});
    const std::string mask = phase_.mask();
    for (std::int64_t i = 0; i < c_.n_layer; ++i) {
      x = layer(i, x, mask);
    }
    b_.layer_norm("ln_f", phase_.last_token(x), c_.n_embd, c_.layer_norm_epsilon);
    b_.rename_last_output("last_hidden_state");
    if (c_.head == "Model" && !phase_.generates()) {
      b_.output("last_hidden_state", DataType::kFloat, {"batch", "seq", std::to_string(c_.n_embd)});
    } else {
      language_head();
    }
    return std::move(b_).finish();
  }

 private:
  // The head's weights are those of the words.
  void language_head() {
    const std::string turned = b_.node("Transpose", "lm_head/Transpose", {"wte.weight"},
                                       {{"perm", {std::vector<std::int64_t>{1, 0}}}});
    b_.node("MatMul", "logits", {"last_hidden_state", turned});
    if (!phase_.generates()) {
      b_.output("logits", DataType::kFloat, {"batch", "seq", std::to_string(c_.vocab_size)});
    }
  }

  std::string project(const std::string& scope, const std::string& x, std::int64_t in, std::int64_t out,
                      float deviation) {
    return b_.projection(scope, x, in, out, deviation, kBiasDeviation);
  }

  std::string layer(std::int64_t index, const std::string& x, const std::string& mask) {
    const std::string scope = "h." + std::to_string(index);
    // Residual projections start smaller, by the root of their number (GPT-2's paper, section 2.3).
    const float residual = c_.initializer_range / std::sqrt(2.0F * static_cast<float>(c_.n_layer));
    const std::int64_t inner = c_.n_inner > 0 ? c_.n_inner : 4 * c_.n_embd;
    const std::string normal = b_.layer_norm(scope + ".ln_1", x, c_.n_embd, c_.layer_norm_epsilon);
    const std::string merged = joint_attention(
        b_, {scope + ".attn", c_.n_embd, c_.n_head, c_.initializer_range, &phase_, index}, normal, mask);
    const std::string attended = project(scope + ".attn.c_proj", merged, c_.n_embd, c_.n_embd, residual);
    const std::string first = b_.node("Add", scope + "/Add", {attended, x});
    const std::string second = b_.layer_norm(scope + ".ln_2", first, c_.n_embd, c_.layer_norm_epsilon);
    const std::string wide = project(scope + ".mlp.c_fc", second, c_.n_embd, inner, c_.initializer_range);
    const std::string active =
        c_.exact_gelu ? b_.gelu(scope + ".mlp", wide) : b_.gelu_tanh(scope + ".mlp", wide);
    const std::string narrow = project(scope + ".mlp.c_proj", active, inner, c_.n_embd, residual);
    return b_.node("Add", scope + "/Add_1", {narrow, first});
  }

  const Config& c_;
  GraphBuilder b_;
  DecoderPhase phase_;
};

ZooEntry entry(const std::string& name, const std::string& description, const Config& config) {
  const auto build = [=](Form form, Phase phase) { return Gpt2(name, config, form, phase).build(); };
  return with_generation({name,
                          description,
                          config.n_positions,
                          {{"batch", 1}, {"seq", 64}},
                          [=](Form form) { return build(form, Phase::kWhole); }},
                         build);
}

Result<ZooEntry> from_config(const std::string& name, const nlohmann::json& json) {
  Config c;
  ConfigFields fields(json);
  c.vocab_size = fields.size("vocab_size", c.vocab_size);
  c.n_positions = fields.size("n_positions", c.n_positions);
  c.n_embd = fields.size("n_embd", c.n_embd);
  c.n_layer = fields.size("n_layer", c.n_layer);
  c.n_head = fields.size("n_head", c.n_head);
  c.n_inner = fields.size("n_inner", c.n_inner);
  c.layer_norm_epsilon = fields.real("layer_norm_epsilon", c.layer_norm_epsilon);
  c.exact_gelu = fields.text("activation_function", "gelu_new") == "gelu";
  fields.divides("n_head", c.n_head, "n_embd", c.n_embd);
  fields.expect("activation_function", "gelu_new", {"gelu_new", "gelu_pytorch_tanh", "gelu"});
  fields.expect_flag("scale_attn_weights", true);
  fields.expect_flag("scale_attn_by_inverse_layer_idx", false);
  fields.expect_flag("add_cross_attention", false);
  TOUCHSTONE_TRY(fields.check());
  TOUCHSTONE_ASSIGN(c.head, head_of(json, {"LMHeadModel", "Model"}));
  return entry(name, "a checkpoint of GPT-2", c);
}

}  // namespace

Family gpt2() {
  return {"gpt2",
          {entry("gpt2", "GPT-2 small, 50257 byte pairs", {}),
           entry("distilgpt2", "GPT-2 of 6 layers, distilled", {.n_layer = 6})},
          from_config};
}

}  // namespace touchstone::architectures
