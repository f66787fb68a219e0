// SPDX-License-Identifier: Apache-2.0
// CTRL (Keskar et al., 2019), as Hugging Face's CTRLModel computes it: positions are sines and cosines.
#include <cmath>

#include "models/config.h"
#include "models/transformer.h"
#include "models/zoo.h"

namespace touchstone::architectures {
namespace {

// Field names are those of Hugging Face's config.json.
struct Config {
  std::int64_t vocab_size = 246534;
  std::int64_t n_positions = 256;
  std::int64_t n_embd = 1280;
  std::int64_t dff = 8192;
  std::int64_t n_layer = 48;
  std::int64_t n_head = 16;
  float layer_norm_epsilon = 1e-6F;
};

constexpr float kDeviation = 0.02F;

// [positions, width]: sines of the even columns' angles, then cosines of the odd ones'.
std::vector<float> position_table(const Config& c) {
  std::vector<float> table;
  const auto angle = [&](std::int64_t position, std::int64_t column) {
    const double exponent = static_cast<double>(2 * (column / 2)) / static_cast<double>(c.n_embd);
    return static_cast<double>(position) / std::pow(10000.0, exponent);
  };
  for (std::int64_t position = 0; position < c.n_positions; ++position) {
    for (std::int64_t column = 0; column < c.n_embd; column += 2) {
      table.push_back(static_cast<float>(std::sin(angle(position, column))));
    }
    for (std::int64_t column = 1; column < c.n_embd; column += 2) {
      table.push_back(static_cast<float>(std::cos(angle(position, column))));
    }
  }
  return table;
}

std::string layer(GraphBuilder& b, const Config& c, const std::string& scope, const std::string& x,
                  const std::string& mask) {
  const auto linear = [&](const std::string& name, const std::string& from, std::int64_t in,
                          std::int64_t out) {
    return b.linear(scope + name, from, in, out, kDeviation, kBiasDeviation);
  };
  const std::string normal = b.layer_norm(scope + ".layernorm1", x, c.n_embd, c.layer_norm_epsilon);
  const std::string self = scope + ".multi_head_attention";
  const std::string merged = self_attention(
      b, {self, self + ".Wq", self + ".Wk", self + ".Wv", c.n_embd, c.n_head, kDeviation}, normal, mask);
  const std::string attended = linear(".multi_head_attention.dense", merged, c.n_embd, c.n_embd);
  const std::string first = b.node("Add", scope + "/Add", {x, attended});
  const std::string second = b.layer_norm(scope + ".layernorm2", first, c.n_embd, c.layer_norm_epsilon);
  const std::string wide = b.relu(scope + ".ffn", linear(".ffn.0", second, c.n_embd, c.dff));
  return b.node("Add", scope + "/Add_1", {first, linear(".ffn.2", wide, c.dff, c.n_embd)});
}

ModelDefinition build(const std::string& name, const Config& c, Form form) {
  GraphBuilder b(name, form);
  b.input("input_ids", DataType::kInt64, {"batch", "seq"});
  b.input("attention_mask", DataType::kInt64, {"batch", "seq"});
  const std::string words =
      embedding(b, "w.weight", "w/Gather", "input_ids", c.vocab_size, c.n_embd, kDeviation);
  const std::string scaled =
      b.node("Mul", "w/Mul", {words, b.scalar("w/root", std::sqrt(static_cast<float>(c.n_embd)))});
  const std::string table = b.table("positions/table", {c.n_positions, c.n_embd}, position_table(c));
  std::string x =
      b.node("Add", "embeddings/Add",
             {scaled, b.node("Gather", "positions/Gather", {table, position_range(b, "input_ids")})});
  b.shape_is(x, {"batch", "seq", std::to_string(c.n_embd)});
  const std::string mask = causal_mask(b, "input_ids", "attention_mask");
  for (std::int64_t i = 0; i < c.n_layer; ++i) {
    x = layer(b, c, "h." + std::to_string(i), x, mask);
  }
  b.layer_norm("layernorm", x, c.n_embd, c.layer_norm_epsilon);
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
  c.dff = fields.size("dff", c.dff);
  c.n_layer = fields.size("n_layer", c.n_layer);
  c.n_head = fields.size("n_head", c.n_head);
  c.layer_norm_epsilon = fields.real("layer_norm_epsilon", c.layer_norm_epsilon);
  fields.divides("n_head", c.n_head, "n_embd", c.n_embd);
  TOUCHSTONE_TRY(fields.check());
  TOUCHSTONE_TRY(head_of(json, {"Model"}));
  return entry(name, "a checkpoint of CTRL", c);
}

}  // namespace

Family ctrl() {
  return {"ctrl", {entry("ctrl", "CTRL, 48 layers, width 1280, 246534 byte pairs", {})}, from_config};
}

}  // namespace touchstone::architectures
