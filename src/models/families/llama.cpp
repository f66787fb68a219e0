// SPDX-License-Identifier: Apache-2.0
// Llama (Touvron et al., 2023), as Hugging Face's LlamaModel and LlamaForCausalLM compute it: RMSNorm, rotary
// positions, grouped-query attention, SwiGLU.
#include "models/config.h"
#include "models/decoder_phase.h"
#include "models/transformer.h"
#include "models/zoo.h"

namespace touchstone::architectures {
namespace {

// Field names are those of Hugging Face's config.json.
struct Config {
  std::int64_t vocab_size = 32000;
  std::int64_t hidden_size = 4096;
  std::int64_t num_hidden_layers = 32;
  std::int64_t num_attention_heads = 32;
  std::int64_t num_key_value_heads = 32;
  std::int64_t head_dim = 128;
  std::int64_t intermediate_size = 11008;
  std::int64_t max_position_embeddings = 2048;
  float rms_norm_eps = 1e-6F;
  float rope_theta = 10000;
  float initializer_range = 0.02F;
  bool tied = false;
  std::string head = "Model";
};

class Llama {
 public:
  Llama(const std::string& name, const Config& config, Form form, Phase phase)
      : c_(config),
        b_(name, form),
        phase_(b_, phase, {c_.num_hidden_layers, c_.num_key_value_heads, c_.head_dim, c_.vocab_size}) {}

  ModelDefinition build() && {
    std::string x = embedding(b_, "embed_tokens.weight", "embed_tokens/Gather", "input_ids", c_.vocab_size,
                              c_.hidden_size, c_.initializer_range);
    const std::string mask = phase_.mask();
    rotary_angles(b_, "rotary", phase_.positions(), c_.head_dim, c_.rope_theta);
    for (std::int64_t i = 0; i < c_.num_hidden_layers; ++i) {
      x = layer(i, x, mask);
    }
    b_.rms_norm("norm", phase_.last_token(x), c_.hidden_size, c_.rms_norm_eps);
    b_.rename_last_output("last_hidden_state");
    if (c_.head == "Model" && !phase_.generates()) {
      b_.output("last_hidden_state", DataType::kFloat, {"batch", "seq", std::to_string(c_.hidden_size)});
    } else {
      language_head();
    }
    return std::move(b_).finish();
  }

 private:
  std::string project(const std::string& scope, const std::string& x, std::int64_t in, std::int64_t out) {
    return b_.linear_without_bias(scope, x, in, out, c_.initializer_range);
  }

  void language_head() {
    if (c_.tied) {
      const std::string turned = b_.node("Transpose", "lm_head/Transpose", {"embed_tokens.weight"},
                                         {{"perm", {std::vector<std::int64_t>{1, 0}}}});
      b_.node("MatMul", "lm_head/MatMul", {"last_hidden_state", turned});
    } else {
      project("lm_head", "last_hidden_state", c_.hidden_size, c_.vocab_size);
    }
    b_.rename_last_output("logits");
    if (!phase_.generates()) {
      b_.output("logits", DataType::kFloat, {"batch", "seq", std::to_string(c_.vocab_size)});
    }
  }

  // Each key and value head serves several query heads.
  std::string repeat(const std::string& scope, const std::string& x) {
    const std::int64_t times = c_.num_attention_heads / c_.num_key_value_heads;
    if (times == 1) {
      return x;
    }
    const std::string apart = b_.node("Unsqueeze", scope + "/Unsqueeze", {x, b_.constant("axis_2", {2})});
    const std::string wide =
        b_.node("Expand", scope + "/Expand", {apart, b_.constant("repeats", {1, 1, times, 1, 1})});
    const std::string shape = b_.constant("repeated_shape", {0, c_.num_attention_heads, -1, c_.head_dim});
    return b_.node("Reshape", scope + "/Reshape_1", {wide, shape});
  }

  std::string attention(std::int64_t index, const std::string& scope, const std::string& x,
                        const std::string& mask) {
    const auto heads = [&](const std::string& name, std::int64_t count) {
      const std::string projected = project(scope + "." + name, x, c_.hidden_size, count * c_.head_dim);
      return split_heads(b_, scope + "." + name, projected, count, c_.head_dim, {0, 2, 1, 3});
    };
    const std::string q =
        rotate_halves(b_, scope + "/query", heads("q_proj", c_.num_attention_heads), "rotary", c_.head_dim);
    const std::string key =
        rotate_halves(b_, scope + "/key", heads("k_proj", c_.num_key_value_heads), "rotary", c_.head_dim);
    const std::string k = repeat(scope + "/key", phase_.remember(index, "key", key));
    const std::string value = heads("v_proj", c_.num_key_value_heads);
    const std::string v = repeat(scope + "/value", phase_.remember(index, "value", value));
    const std::string turned = b_.node("Transpose", scope + "/key/Transpose", {k},
                                       {{"perm", {std::vector<std::int64_t>{0, 1, 3, 2}}}});
    const std::int64_t width = c_.num_attention_heads * c_.head_dim;
    const std::string merged =
        merge_heads(b_, scope, b_.attention(scope, q, turned, v, mask, c_.head_dim), width);
    return project(scope + ".o_proj", merged, width, c_.hidden_size);
  }

  std::string layer(std::int64_t index, const std::string& x, const std::string& mask) {
    const std::string scope = "layers." + std::to_string(index);
    const std::string normal = b_.rms_norm(scope + ".input_layernorm", x, c_.hidden_size, c_.rms_norm_eps);
    const std::string first =
        b_.node("Add", scope + "/Add", {x, attention(index, scope + ".self_attn", normal, mask)});
    const std::string second =
        b_.rms_norm(scope + ".post_attention_layernorm", first, c_.hidden_size, c_.rms_norm_eps);
    const std::string mlp = scope + ".mlp";
    const std::string gate =
        b_.silu(mlp + "/silu", project(mlp + ".gate_proj", second, c_.hidden_size, c_.intermediate_size));
    const std::string up = project(mlp + ".up_proj", second, c_.hidden_size, c_.intermediate_size);
    const std::string down = project(mlp + ".down_proj", b_.node("Mul", mlp + "/Mul", {gate, up}),
                                     c_.intermediate_size, c_.hidden_size);
    return b_.node("Add", scope + "/Add_1", {first, down});
  }

  const Config& c_;
  GraphBuilder b_;
  DecoderPhase phase_;
};

ZooEntry entry(const std::string& name, const std::string& description, const Config& config) {
  const auto build = [=](Form form, Phase phase) { return Llama(name, config, form, phase).build(); };
  ZooEntry whole = {
      name, description, config.max_position_embeddings, {{"batch", 1}, {"seq", 64}}, [=](Form form) {
        return build(form, Phase::kWhole);
      }};
  // Without a head of its own and not tied to the words, there is nothing that makes logits.
  const bool has_head = config.head != "Model" || config.tied;
  return has_head ? with_generation(std::move(whole), build) : whole;
}

Result<ZooEntry> from_config(const std::string& name, const nlohmann::json& json) {
  Config c;
  ConfigFields fields(json);
  c.vocab_size = fields.size("vocab_size", c.vocab_size);
  c.hidden_size = fields.size("hidden_size", c.hidden_size);
  c.num_hidden_layers = fields.size("num_hidden_layers", c.num_hidden_layers);
  c.num_attention_heads = fields.size("num_attention_heads", c.num_attention_heads);
  c.num_key_value_heads = fields.size("num_key_value_heads", c.num_attention_heads);
  c.head_dim = fields.size("head_dim", c.hidden_size / c.num_attention_heads);
  c.intermediate_size = fields.size("intermediate_size", c.intermediate_size);
  c.max_position_embeddings = fields.size("max_position_embeddings", c.max_position_embeddings);
  c.rms_norm_eps = fields.real("rms_norm_eps", c.rms_norm_eps);
  c.rope_theta = fields.real("rope_theta", c.rope_theta);
  c.tied = fields.flag("tie_word_embeddings", false);
  fields.divides("num_key_value_heads", c.num_key_value_heads, "num_attention_heads", c.num_attention_heads);
  fields.divides("2", 2, "head_dim", c.head_dim);
  fields.expect("hidden_act", "silu", {"silu"});
  fields.expect_flag("attention_bias", false);
  fields.expect_flag("mlp_bias", false);
  TOUCHSTONE_TRY(fields.check());
  for (const char* field : {"rope_scaling", "rope_parameters"}) {
    const auto scaling = json.find(field);
    if (scaling == json.end() || scaling->is_null()) {
      continue;
    }
    ConfigFields inner(*scaling);
    inner.expect("rope_type", "default", {"default"});
    c.rope_theta = inner.real("rope_theta", c.rope_theta);
    TOUCHSTONE_TRY(inner.check());
  }
  TOUCHSTONE_ASSIGN(c.head, head_of(json, {"ForCausalLM", "Model"}));
  return entry(name, "a checkpoint of Llama", c);
}

}  // namespace

Family llama() {
  return {"llama",
          {entry("llama-135m",
                 "Llama of 30 layers, width 576, 9 query and 3 key-value heads (the layout of SmolLM)",
                 {.vocab_size = 49152,
                  .hidden_size = 576,
                  .num_hidden_layers = 30,
                  .num_attention_heads = 9,
                  .num_key_value_heads = 3,
                  .head_dim = 64,
                  .intermediate_size = 1536,
                  .max_position_embeddings = 2048,
                  .rms_norm_eps = 1e-5F,
                  .tied = true})},
          from_config};
}

}  // namespace touchstone::architectures
