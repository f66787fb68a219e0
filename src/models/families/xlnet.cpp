// SPDX-License-Identifier: Apache-2.0
// XLNet (Yang et al., 2019), bidirectional, without memory or query stream, as Hugging Face's XLNetModel
// computes it: relative positions by the shift of Transformer-XL.
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
  std::int64_t vocab_size = 32000;
  std::int64_t d_model = 768;
  std::int64_t n_layer = 12;
  std::int64_t n_head = 12;
  std::int64_t d_inner = 3072;
  float layer_norm_eps = 1e-12F;
  float initializer_range = 0.02F;
};

class XlNet {
 public:
  XlNet(const std::string& name, const Config& config, Form form)
      : c_(config), head_(config.d_model / config.n_head), b_(name, form) {}

  ModelDefinition build() && {
    b_.input("input_ids", DataType::kInt64, {"batch", "seq"});
    b_.input("attention_mask", DataType::kInt64, {"batch", "seq"});
    b_.input("token_type_ids", DataType::kInt64, {"batch", "seq"});
    std::string x = embedding(b_, "word_embedding.weight", "word_embedding/Gather", "input_ids",
                              c_.vocab_size, c_.d_model, c_.initializer_range);
    positions();
    masks();
    for (std::int64_t i = 0; i < c_.n_layer; ++i) {
      x = layer("layer." + std::to_string(i), x);
    }
    b_.rename_last_output("last_hidden_state");
    b_.output("last_hidden_state", DataType::kFloat, {"batch", "seq", std::to_string(c_.d_model)});
    return std::move(b_).finish();
  }

 private:
  std::string unsqueeze(const std::string& name, const std::string& x, std::int64_t axis) {
    return b_.node("Unsqueeze", name, {x, b_.constant("axis_" + std::to_string(axis), {axis})});
  }

  // Sines and cosines of the distances seq … 1-seq, [2·seq, d_model].
  void positions() {
    const std::string length = sequence_length(b_, "input_ids");
    const std::string distances =
        b_.node("Range", "positions/Range",
                {length, b_.node("Neg", "positions/Neg", {length}), b_.scalar_int("minus_one", -1)});
    sinusoids(b_, "positions", distances, c_.d_model);
    const std::string one = unsqueeze("length/Unsqueeze", length, 0);
    b_.node("Concat", "shift/wide", {b_.constant("keep_two", {0, 0}), b_.constant("rest", {-1}), one},
            {{"axis", {std::int64_t{0}}}});
    b_.node("Concat", "shift/back", {b_.constant("keep_two", {0, 0}), one, b_.constant("rest", {-1})},
            {{"axis", {std::int64_t{0}}}});
  }

  // mask: 0 where a key may be seen (not padding, or the query itself), else the lowest float. segments:
  // whether query and key are of different token types.
  void masks() {
    const std::string all = position_range_of_queries();
    const std::string itself =
        b_.node("Equal", "mask/Equal", {unsqueeze("mask/keys", all, 0), unsqueeze("mask/queries", all, 1)});
    const std::string token =
        b_.node("Cast", "mask/Cast",
                {unsqueeze("mask/Unsqueeze_1", unsqueeze("mask/Unsqueeze", "attention_mask", 1), 2)},
                {{"to", {std::int64_t{9}}}});
    b_.node("Where", "mask",
            {b_.node("Or", "mask/Or", {itself, token}), b_.scalar("mask/zero", 0.0F),
             b_.scalar("mask/lowest", std::numeric_limits<float>::lowest())});
    const std::string same = b_.node("Equal", "segments/Equal",
                                     {unsqueeze("segments/queries", "token_type_ids", 2),
                                      unsqueeze("segments/keys", "token_type_ids", 1)});
    unsqueeze("segments/same", same, 1);
  }

  std::string position_range_of_queries() {
    return b_.node("Range", "mask/Range",
                   {b_.scalar_int("zero", 0), "length/Gather", b_.scalar_int("one", 1)});
  }

  // A projection that checkpoints keep as [d_model, heads, head].
  std::string project(const std::string& scope, const std::string& x) {
    const std::string kernel = b_.weight({.name = scope,
                                          .shape = {c_.d_model, c_.d_model},
                                          .mean = 0,
                                          .deviation = c_.initializer_range,
                                          .stored_shape = {c_.d_model, c_.n_head, head_}});
    return b_.node("MatMul", scope + "/MatMul", {x, kernel});
  }

  std::string bias(const std::string& name) {
    return b_.weight({.name = name,
                      .shape = {c_.n_head, 1, head_},
                      .mean = 0,
                      .deviation = c_.initializer_range,
                      .stored_shape = {c_.n_head, head_}});
  }

  std::string heads(const std::string& scope, const std::string& x, Ints permutation) {
    return split_heads(b_, scope, project(scope, x), c_.n_head, head_, std::move(permutation));
  }

  // Scores by distance, [batch, heads, seq, 2·seq] -> by key, [batch, heads, seq, seq].
  std::string shift(const std::string& scope, const std::string& scores) {
    const std::string wide = b_.node("Reshape", scope + "/wide", {scores, "shift/wide"});
    const std::string cut = b_.node("Slice", scope + "/cut",
                                    {wide, b_.constant("start_1", {1}),
                                     b_.constant("end_all", {std::numeric_limits<std::int64_t>::max()}),
                                     b_.constant("axis_2", {2}), b_.constant("step_1", {1})});
    const std::string back = b_.node("Reshape", scope + "/back", {cut, "shift/back"});
    return b_.node("Slice", scope + "/keys",
                   {back, b_.constant("start_0", {0}), "length/Unsqueeze", b_.constant("axis_3", {3}),
                    b_.constant("step_1", {1})});
  }

  // (q + r_s_bias)·segment, of the two segments the one that query and key make.
  std::string by_segment(const std::string& scope, const std::string& q) {
    const std::string table = b_.weight({.name = scope + ".seg_embed",
                                         .shape = {2, c_.n_head, head_},
                                         .mean = 0,
                                         .deviation = c_.initializer_range});
    const std::string turned =
        b_.node("Transpose", scope + "/segments/Transpose", {table}, {{"perm", {Ints{1, 2, 0}}}});
    const std::string scores =
        b_.node("MatMul", scope + "/segments/MatMul",
                {b_.node("Add", scope + "/segments/Add", {q, bias(scope + ".r_s_bias")}), turned});
    b_.node_with_outputs("Split", scope + "/segments/Split", {scores, b_.constant("one_each", {1, 1})},
                         {scope + "/segments/same", scope + "/segments/other"},
                         {{"axis", {std::int64_t{3}}}});
    return b_.node("Where", scope + "/segments/Where",
                   {"segments/same", scope + "/segments/same", scope + "/segments/other"});
  }

  std::string attention(const std::string& scope, const std::string& x) {
    const std::string q = heads(scope + ".q", x, {0, 2, 1, 3});
    const std::string k = heads(scope + ".k", x, {0, 2, 3, 1});
    const std::string v = heads(scope + ".v", x, {0, 2, 1, 3});
    const std::string distance = b_.node("Transpose", scope + "/distances/Transpose",
                                         {b_.node("Reshape", scope + "/distances/Reshape",
                                                  {project(scope + ".r", "positions"),
                                                   b_.constant("distances_shape", {-1, c_.n_head, head_})})},
                                         {{"perm", {Ints{1, 2, 0}}}});
    const std::string by_distance =
        shift(scope + "/shift",
              b_.node("MatMul", scope + "/distances/MatMul",
                      {b_.node("Add", scope + "/distances/Add", {q, bias(scope + ".r_r_bias")}), distance}));
    const std::string extra = b_.node("Add", scope + "/extra/Add", {by_distance, by_segment(scope, q)});
    const std::string scale = b_.scalar("extra/scale", 1 / std::sqrt(static_cast<float>(head_)));
    const std::string mask = b_.node("Add", scope + "/extra/Add_1",
                                     {b_.node("Mul", scope + "/extra/Mul", {extra, scale}), "mask"});
    const std::string by_content = b_.node("Add", scope + "/content/Add", {q, bias(scope + ".r_w_bias")});
    const std::string merged =
        merge_heads(b_, scope, b_.attention(scope, by_content, k, v, mask, head_), c_.d_model);
    const std::string out = b_.weight({.name = scope + ".o",
                                       .shape = {c_.d_model, c_.d_model},
                                       .mean = 0,
                                       .deviation = c_.initializer_range,
                                       .transposed = true,
                                       .stored_shape = {c_.d_model, c_.n_head, head_}});
    return b_.node("MatMul", scope + ".o/MatMul", {merged, out});
  }

  std::string layer(const std::string& scope, const std::string& x) {
    const std::string attended = attention(scope + ".rel_attn", x);
    const std::string first =
        b_.layer_norm(scope + ".rel_attn.layer_norm", b_.node("Add", scope + "/Add", {attended, x}),
                      c_.d_model, c_.layer_norm_eps);
    const auto linear = [&](const std::string& name, const std::string& from, std::int64_t in,
                            std::int64_t out) {
      return b_.linear(scope + ".ff." + name, from, in, out, c_.initializer_range, kBiasDeviation);
    };
    const std::string wide = b_.gelu(scope + ".ff", linear("layer_1", first, c_.d_model, c_.d_inner));
    const std::string narrow = linear("layer_2", wide, c_.d_inner, c_.d_model);
    return b_.layer_norm(scope + ".ff.layer_norm", b_.node("Add", scope + "/Add_1", {narrow, first}),
                         c_.d_model, c_.layer_norm_eps);
  }

  const Config& c_;
  std::int64_t head_;
  GraphBuilder b_;
};

ZooEntry entry(const std::string& name, const std::string& description, const Config& config) {
  // mask_emb, of the query stream, is stored and counted, and never read.
  return {name,
          description,
          {},
          {{"batch", 1}, {"seq", 64}},
          [=](Form form) { return XlNet(name, config, form).build(); },
          {{"mask_emb", config.d_model}}};
}

Result<ZooEntry> from_config(const std::string& name, const nlohmann::json& json) {
  Config c;
  ConfigFields fields(json);
  c.vocab_size = fields.size("vocab_size", c.vocab_size);
  c.d_model = fields.size("d_model", c.d_model);
  c.n_layer = fields.size("n_layer", c.n_layer);
  c.n_head = fields.size("n_head", c.n_head);
  c.d_inner = fields.size("d_inner", c.d_inner);
  c.layer_norm_eps = fields.real("layer_norm_eps", c.layer_norm_eps);
  fields.divides("n_head", c.n_head, "d_model", c.d_model);
  fields.divides("2", 2, "d_model", c.d_model);
  fields.expect("ff_activation", "gelu", {"gelu"});
  fields.expect("attn_type", "bi", {"bi"});
  fields.expect_flag("untie_r", true);
  TOUCHSTONE_TRY(fields.check());
  TOUCHSTONE_TRY(head_of(json, {"Model"}));
  return entry(name, "a checkpoint of XLNet", c);
}

}  // namespace

Family xlnet() {
  return {"xlnet", {entry("xlnet-base-cased", "XLNet base, 32000 pieces", {})}, from_config};
}

}  // namespace touchstone::architectures
