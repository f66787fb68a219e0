// SPDX-License-Identifier: Apache-2.0
// Transformer-XL (Dai et al., 2019), as Hugging Face's TransfoXLModel computes the first segment of a text:
// the memory holds `mem_len` states of zeros, which keys and positions count.
#include <algorithm>
#include <cmath>
#include <limits>

#include "models/config.h"
#include "models/transformer.h"
#include "models/zoo.h"

namespace touchstone::architectures {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();
constexpr float kDeviation = 0.02F;
constexpr float kProjectionDeviation = 0.01F;

// Field names are those of Hugging Face's config.json.
struct Config {
  std::int64_t vocab_size = 267735;
  Ints cutoffs = {20000, 40000, 200000};
  std::int64_t d_model = 1024;
  std::int64_t d_embed = 1024;
  std::int64_t n_head = 16;
  std::int64_t d_head = 64;
  std::int64_t d_inner = 4096;
  std::int64_t div_val = 4;
  std::int64_t n_layer = 18;
  std::int64_t mem_len = 1600;
  std::int64_t clamp_len = 1000;  // 0 or -1: distances are not clamped
  bool same_length = true;
  bool pre_lnorm = false;
  bool untie_r = true;
  float layer_norm_epsilon = 1e-5F;
};

class TransformerXl {
 public:
  TransformerXl(const std::string& name, const Config& config, Form form)
      : c_(config), heads_width_(config.n_head * config.d_head), b_(name, form) {}

  ModelDefinition build() && {
    b_.input("input_ids", DataType::kInt64, {"batch", "seq"});
    b_.draws_below("input_ids", c_.vocab_size);
    std::string x = words();
    ranges();
    memory();
    positions();
    mask();
    if (!c_.untie_r) {
      bias_weight("r_r_bias");
      bias_weight("r_w_bias");
    }
    for (std::int64_t i = 0; i < c_.n_layer; ++i) {
      x = layer("layers." + std::to_string(i), x);
    }
    b_.rename_last_output("last_hidden_state");
    b_.output("last_hidden_state", DataType::kFloat, hidden_shape());
    return std::move(b_).finish();
  }

 private:
  std::vector<std::string> hidden_shape() const { return {"batch", "seq", std::to_string(c_.d_model)}; }

  std::string unsqueeze(const std::string& name, const std::string& x, std::int64_t axis) {
    return b_.node("Unsqueeze", name, {x, b_.constant("axis_" + std::to_string(axis), {axis})});
  }

  std::string slice(const std::string& name, const std::string& x, std::int64_t axis, std::int64_t from) {
    return b_.node("Slice", name,
                   {x, b_.constant("from_" + std::to_string(from), {from}), b_.constant("to_end", {kEnd}),
                    b_.constant("axis_" + std::to_string(axis), {axis})});
  }

  // The words from `from` on that have a table of their own, of `width` columns, projected to the model's
  // width. Other words read a row that is not used.
  std::string cluster(std::int64_t index, std::int64_t from, std::int64_t size, std::int64_t width) {
    const std::string scope = "word_emb/" + std::to_string(index);
    std::string ids = "input_ids";
    if (from > 0) {
      ids = b_.node("Sub", scope + "/Sub", {ids, b_.scalar_int("id_" + std::to_string(from), from)});
    }
    if (size < c_.vocab_size) {
      ids =
          b_.node("Clip", scope + "/Clip",
                  {ids, b_.scalar_int("zero", 0), b_.scalar_int("id_" + std::to_string(size - 1), size - 1)});
    }
    const std::string rows = embedding(b_, "word_emb.emb_layers." + std::to_string(index) + ".weight",
                                       scope + "/Gather", ids, size, width, kDeviation);
    if (c_.div_val == 1 && width == c_.d_model) {
      return rows;
    }
    const std::string projection = b_.weight({.name = "word_emb.emb_projs." + std::to_string(index),
                                              .shape = {width, c_.d_model},
                                              .mean = 0,
                                              .deviation = kProjectionDeviation,
                                              .transposed = true});
    return b_.node("MatMul", scope + "/MatMul", {rows, projection});
  }

  // Embeddings by frequency (Baevski and Auli, 2019): each cluster of words has narrower rows than the last.
  std::string words() {
    Ints ends = c_.div_val == 1 ? Ints{} : c_.cutoffs;
    ends.push_back(c_.vocab_size);
    std::string x;
    std::int64_t from = 0;
    std::int64_t width = c_.d_embed;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      const std::string rows = cluster(static_cast<std::int64_t>(i), from, ends[i] - from, width);
      if (i > 0) {
        const std::string scope = "word_emb/" + std::to_string(i);
        const std::string earlier = b_.node("Less", scope + "/Less",
                                            {"input_ids", b_.scalar_int("id_" + std::to_string(from), from)});
        x = b_.node("Where", scope + "/Where", {unsqueeze(scope + "/Unsqueeze", earlier, 2), x, rows});
      } else {
        x = rows;
      }
      from = ends[i];
      width /= c_.div_val;
    }
    const float root = std::sqrt(static_cast<float>(c_.d_model));
    x = b_.node("Mul", "word_emb/Mul", {x, b_.scalar("word_emb/root", root)});
    b_.shape_is(x, hidden_shape());
    return x;
  }

  // queries: 0 … seq-1; keys: 0 … mem_len+seq-1.
  void ranges() {
    const std::string length = sequence_length(b_, "input_ids");
    b_.node("Add", "keys/count", {length, b_.scalar_int("mem_len", c_.mem_len)});
    const std::string zero = b_.scalar_int("zero", 0);
    const std::string one = b_.scalar_int("one", 1);
    b_.node("Range", "queries", {zero, length, one});
    b_.node("Range", "keys", {zero, "keys/count", one});
  }

  void memory() {
    if (c_.mem_len == 0) {
      return;
    }
    const std::string batch = b_.node("Slice", "memory/batch",
                                      {"length/Shape", b_.constant("from_0", {0}), b_.constant("to_1", {1})});
    const std::string shape =
        b_.node("Concat", "memory/shape", {batch, b_.constant("memory/rest", {c_.mem_len, c_.d_model})},
                {{"axis", {std::int64_t{0}}}});
    b_.node("Expand", "memory", {b_.scalar("zero_state", 0.0F), shape});
    b_.shape_is("memory", {"batch", std::to_string(c_.mem_len), std::to_string(c_.d_model)});
  }

  // Sines and cosines of the distances mem_len+seq-1 … 0, [mem_len+seq, d_model].
  void positions() {
    const std::string last = b_.node("Sub", "positions/Sub", {"keys/count", b_.scalar_int("one", 1)});
    std::string distances = b_.node("Sub", "positions/Sub_1", {last, "keys"});
    if (c_.clamp_len > 0) {
      distances = b_.node("Min", "positions/Min", {distances, b_.scalar_int("clamp_len", c_.clamp_len)});
    }
    sinusoids(b_, "positions", distances, c_.d_model);
    const std::string length = unsqueeze("length/Unsqueeze", "length/Gather", 0);
    b_.node("Concat", "shift/tall", {b_.constant("keep_two", {0, 0}), b_.constant("rest", {-1}), length},
            {{"axis", {std::int64_t{0}}}});
    b_.node("Concat", "shift/back", {b_.constant("keep_two", {0, 0}), length, b_.constant("rest", {-1})},
            {{"axis", {std::int64_t{0}}}});
  }

  // 0 where a key is no later than its query and, with same_length, no more than mem_len - 1 before it; else
  // the lowest float: [seq, mem_len+seq].
  void mask() {
    const std::string keys = unsqueeze("mask/keys", "keys", 0);
    const std::string queries = unsqueeze("mask/queries", "queries", 1);
    const std::string newest = b_.node("Add", "mask/Add", {queries, b_.scalar_int("mem_len", c_.mem_len)});
    std::string seen = b_.node("LessOrEqual", "mask/LessOrEqual", {keys, newest});
    if (c_.same_length) {
      seen = b_.node("And", "mask/And", {seen, b_.node("Less", "mask/Less", {queries, keys})});
    }
    b_.node(
        "Where", "mask",
        {seen, b_.scalar("mask/zero", 0.0F), b_.scalar("mask/lowest", std::numeric_limits<float>::lowest())});
  }

  std::string bias_weight(const std::string& name) {
    return b_.weight({.name = name,
                      .shape = {c_.n_head, 1, c_.d_head},
                      .mean = 0,
                      .deviation = kDeviation,
                      .stored_shape = {c_.n_head, c_.d_head}});
  }

  std::string bias(const std::string& scope, const std::string& name) {
    return c_.untie_r ? bias_weight(scope + "." + name) : name;
  }

  // Scores by distance, [batch, heads, seq, keys], turned so that column j is key j.
  std::string shift(const std::string& scope, const std::string& scores) {
    const std::string padded =
        b_.node("Pad", scope + "/Pad", {scores, b_.constant("one_before", {0, 0, 0, 1, 0, 0, 0, 0})});
    const std::string tall = b_.node("Reshape", scope + "/tall", {padded, "shift/tall"});
    return b_.node("Reshape", scope + "/back", {slice(scope + "/cut", tall, 2, 1), "shift/back"});
  }

  std::string by_distance(const std::string& scope, const std::string& q) {
    const std::string distances =
        b_.linear_without_bias(scope + ".r_net", "positions", c_.d_model, heads_width_, kDeviation);
    const std::string turned =
        b_.node("Transpose", scope + "/distances/Transpose",
                {b_.node("Reshape", scope + "/distances/Reshape",
                         {distances, b_.constant("distances_shape", {-1, c_.n_head, c_.d_head})})},
                {{"perm", {Ints{1, 2, 0}}}});
    const std::string biased = b_.node("Add", scope + "/distances/Add", {q, bias(scope, "r_r_bias")});
    return shift(scope + "/shift", b_.node("MatMul", scope + "/distances/MatMul", {biased, turned}));
  }

  std::string attention(const std::string& scope, const std::string& x) {
    std::string all = x;
    if (c_.mem_len > 0) {
      all = b_.node("Concat", scope + "/Concat", {"memory", x}, {{"axis", {std::int64_t{1}}}});
    }
    if (c_.pre_lnorm) {
      all = b_.layer_norm(scope + ".layer_norm", all, c_.d_model, c_.layer_norm_epsilon);
    }
    const std::string joint =
        b_.linear_without_bias(scope + ".qkv_net", all, c_.d_model, 3 * heads_width_, kDeviation);
    const auto part = [&](const std::string& which) { return scope + "/" + which; };
    b_.node_with_outputs("Split", part("Split"),
                         {joint, b_.constant("thirds", {heads_width_, heads_width_, heads_width_})},
                         {part("query"), part("key"), part("value")}, {{"axis", {std::int64_t{2}}}});
    std::string query = part("query");
    if (c_.mem_len > 0) {
      query = slice(part("new"), query, 1, c_.mem_len);
      b_.shape_is(query, {"batch", "seq", std::to_string(heads_width_)});
    }
    const auto heads = [&](const std::string& which, const std::string& from, Ints permutation) {
      return split_heads(b_, part(which), from, c_.n_head, c_.d_head, std::move(permutation));
    };
    const std::string q = heads("query", query, {0, 2, 1, 3});
    const std::string k = heads("key", part("key"), {0, 2, 3, 1});
    const std::string v = heads("value", part("value"), {0, 2, 1, 3});
    const std::string scaled = b_.node(
        "Mul", part("distances/Mul"),
        {by_distance(scope, q), b_.scalar("distances/scale", 1 / std::sqrt(static_cast<float>(c_.d_head)))});
    const std::string added = b_.node("Add", part("mask/Add"), {scaled, "mask"});
    const std::string content = b_.node("Add", part("content/Add"), {q, bias(scope, "r_w_bias")});
    const std::string merged =
        merge_heads(b_, scope, b_.attention(scope, content, k, v, added, c_.d_head), heads_width_);
    b_.shape_is(merged, {"batch", "seq", std::to_string(heads_width_)});
    return b_.linear_without_bias(scope + ".o_net", merged, heads_width_, c_.d_model, kDeviation);
  }

  // A block with its residual connection, normalized before the block or after.
  template <class Block>
  std::string residual(const std::string& scope, const std::string& x, Block block) {
    const std::string sum = b_.node("Add", scope + "/residual", {x, block(x)});
    return c_.pre_lnorm ? sum : b_.layer_norm(scope + ".layer_norm", sum, c_.d_model, c_.layer_norm_epsilon);
  }

  std::string layer(const std::string& scope, const std::string& x) {
    const std::string self = scope + ".dec_attn";
    const std::string attended =
        residual(self, x, [&](const std::string& from) { return attention(self, from); });
    const std::string forward = scope + ".pos_ff";
    return residual(forward, attended, [&](std::string from) {
      if (c_.pre_lnorm) {
        from = b_.layer_norm(forward + ".layer_norm", from, c_.d_model, c_.layer_norm_epsilon);
      }
      const std::string wide =
          b_.linear(forward + ".CoreNet.0", from, c_.d_model, c_.d_inner, kDeviation, kBiasDeviation);
      return b_.linear(forward + ".CoreNet.3", b_.relu(forward, wide), c_.d_inner, c_.d_model, kDeviation,
                       kBiasDeviation);
    });
  }

  const Config& c_;
  std::int64_t heads_width_;
  GraphBuilder b_;
};

ZooEntry entry(const std::string& name, const std::string& description, const Config& config) {
  return {name, description, {}, {{"batch", 1}, {"seq", 64}}, [=](Form form) {
            return TransformerXl(name, config, form).build();
          }};
}

// Errors: invalid-model, where the clusters do not divide the vocabulary or the widths.
Result<void> check_clusters(const Config& c) {
  Ints ends = c.cutoffs;
  ends.push_back(c.vocab_size);
  std::int64_t width = c.d_embed;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (ends[i] <= (i == 0 ? 0 : ends[i - 1])) {
      return fail(Reason::kInvalidModel, "config.json: 'cutoffs' must rise and stay below 'vocab_size' ({})",
                  c.vocab_size);
    }
    if (width < 1) {
      return fail(Reason::kInvalidModel,
                  "config.json: 'd_embed' ({}) cannot be divided by 'div_val' ({}) for each of {} clusters",
                  c.d_embed, c.div_val, ends.size());
    }
    width /= c.div_val;
  }
  return {};
}

Result<ZooEntry> from_config(const std::string& name, const nlohmann::json& json) {
  Config c;
  ConfigFields fields(json);
  c.vocab_size = fields.size("vocab_size", c.vocab_size);
  c.cutoffs = fields.sizes("cutoffs", c.cutoffs);
  c.d_model = fields.size("d_model", c.d_model);
  c.d_embed = fields.size("d_embed", c.d_embed);
  c.n_head = fields.size("n_head", c.n_head);
  c.d_head = fields.size("d_head", c.d_head);
  c.d_inner = fields.size("d_inner", c.d_inner);
  c.div_val = fields.size("div_val", c.div_val);
  c.n_layer = fields.size("n_layer", c.n_layer);
  c.mem_len = fields.size("mem_len", c.mem_len, 0);
  c.clamp_len = fields.size("clamp_len", c.clamp_len, -1);
  c.same_length = fields.flag("same_length", c.same_length);
  c.pre_lnorm = fields.flag("pre_lnorm", c.pre_lnorm);
  c.untie_r = fields.flag("untie_r", c.untie_r);
  c.layer_norm_epsilon = fields.real("layer_norm_epsilon", c.layer_norm_epsilon);
  const std::int64_t attention_type = fields.size("attn_type", 0, 0);
  fields.divides("2", 2, "d_model", c.d_model);
  TOUCHSTONE_TRY(fields.check());
  if (attention_type != 0) {
    return fail(Reason::kUnsupported, "config.json: 'attn_type' is {}; built is 0, relative positions",
                attention_type);
  }
  if (c.same_length && c.mem_len == 0) {
    return fail(Reason::kUnsupported,
                "config.json: 'same_length' with a 'mem_len' of 0 leaves a word nothing to look at");
  }
  TOUCHSTONE_TRY(check_clusters(c));
  TOUCHSTONE_TRY(head_of(json, {"Model"}));
  ZooEntry made = entry(name, "a checkpoint of Transformer-XL", c);
  if (!c.untie_r) {
    // Every layer's name for the one bias of all, once more.
    made.unread = {{".dec_attn.r_r_bias", 0}, {".dec_attn.r_w_bias", 0}};
  }
  return made;
}

}  // namespace

Family transfo_xl() {
  return {"transfo-xl",
          {entry("transfo-xl-wt103", "Transformer-XL, 18 layers, memory of 1600 states, 267735 words", {})},
          from_config};
}

}  // namespace touchstone::architectures
