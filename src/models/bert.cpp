// SPDX-License-Identifier: Apache-2.0
#include "models/bert.h"

#include <limits>

namespace touchstone {
namespace {

constexpr float kBiasDeviation = 0.02F;

class BertBuilder {
 public:
  BertBuilder(const std::string& name, const BertConfig& config, Form form)
      : config_(config), b_(name, form) {}

  ModelDefinition build() && {
    b_.input("input_ids", DataType::kInt64, {"batch", "seq"});
    b_.input("attention_mask", DataType::kInt64, {"batch", "seq"});
    b_.input("token_type_ids", DataType::kInt64, {"batch", "seq"});
    std::string x = embeddings();
    const std::string mask = additive_mask();
    for (std::int64_t i = 0; i < config_.num_hidden_layers; ++i) {
      x = layer("encoder.layer." + std::to_string(i), x, mask);
    }
    b_.rename_last_output("last_hidden_state");
    pooler("last_hidden_state");
    b_.rename_last_output("pooler_output");
    const std::string width = std::to_string(config_.hidden_size);
    b_.output("last_hidden_state", DataType::kFloat, {"batch", "seq", width});
    b_.output("pooler_output", DataType::kFloat, {"batch", width});
    return std::move(b_).finish();
  }

 private:
  std::string table(const std::string& name, std::int64_t rows) {
    return b_.weight("embeddings." + name + ".weight", {rows, config_.hidden_size}, 0,
                     config_.initializer_range);
  }

  std::string embeddings() {
    const std::string words =
        b_.node("Gather", "embeddings/word", {table("word_embeddings", config_.vocab_size), "input_ids"});
    // Positions 0 … seq-1, as a slice of a constant: the form that exporters of BERT leave behind.
    const std::string shape = b_.node("Shape", "embeddings/Shape", {"input_ids"});
    const std::string length = b_.node("Gather", "embeddings/length", {shape, b_.scalar_int("one", 1)},
                                       {{"axis", {std::int64_t{0}}}});
    const std::string end = b_.node("Unsqueeze", "embeddings/end", {length, b_.constant("axis_0", {0})});
    const std::string positions = b_.node("Slice", "embeddings/position_ids",
                                          {position_ids(), b_.constant("start_0", {0}), end,
                                           b_.constant("axis_1", {1}), b_.constant("step_1", {1})});
    const std::string position =
        b_.node("Gather", "embeddings/position",
                {table("position_embeddings", config_.max_position_embeddings), positions});
    const std::string type =
        b_.node("Gather", "embeddings/type",
                {table("token_type_embeddings", config_.type_vocab_size), "token_type_ids"});
    const std::string sum = b_.node("Add", "embeddings/Add", {words, type});
    const std::string all = b_.node("Add", "embeddings/Add_1", {sum, position});
    // The slice of positions has no known length; engines that fuse by shape need to hear that this is seq
    // again.
    b_.shape_is(all, {"batch", "seq", std::to_string(config_.hidden_size)});
    return b_.layer_norm("embeddings.LayerNorm", all, config_.hidden_size, config_.layer_norm_eps);
  }

  std::string position_ids() {
    std::vector<std::int64_t> values(static_cast<std::size_t>(config_.max_position_embeddings));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::int64_t>(i);
    }
    return b_.constant_of_shape("embeddings.position_ids", {1, config_.max_position_embeddings}, values);
  }

  // (1 - mask) times the lowest float, broadcast over heads and queries.
  std::string additive_mask() {
    const std::string rows =
        b_.node("Unsqueeze", "mask/Unsqueeze", {"attention_mask", b_.constant("axis_1", {1})});
    const std::string wide = b_.node("Unsqueeze", "mask/Unsqueeze_1", {rows, b_.constant("axis_2", {2})});
    const std::string real = b_.node("Cast", "mask/Cast", {wide}, {{"to", {std::int64_t{1}}}});
    const std::string off = b_.node("Sub", "mask/Sub", {b_.scalar("mask/one", 1.0F), real});
    return b_.node("Mul", "mask/Mul", {off, b_.scalar("mask/lowest", std::numeric_limits<float>::lowest())});
  }

  std::string project(const std::string& scope, const std::string& x, std::int64_t in, std::int64_t out) {
    return b_.linear(scope, x, in, out, config_.initializer_range, kBiasDeviation);
  }

  std::string heads(const std::string& scope, const std::string& x, std::vector<std::int64_t> permutation) {
    const std::int64_t size = config_.hidden_size / config_.num_attention_heads;
    const std::string split =
        b_.node("Reshape", scope + "/Reshape",
                {project(scope, x, config_.hidden_size, config_.hidden_size),
                 b_.constant("heads_shape", {0, 0, config_.num_attention_heads, size})});
    return b_.node("Transpose", scope + "/Transpose", {split}, {{"perm", {std::move(permutation)}}});
  }

  std::string layer(const std::string& scope, const std::string& x, const std::string& mask) {
    const std::int64_t size = config_.hidden_size / config_.num_attention_heads;
    const std::string self = scope + ".attention.self";
    const std::string q = heads(self + ".query", x, {0, 2, 1, 3});
    const std::string k = heads(self + ".key", x, {0, 2, 3, 1});
    const std::string v = heads(self + ".value", x, {0, 2, 1, 3});
    const std::string context = b_.attention(self, q, k, v, mask, size);
    const std::string back = b_.node("Transpose", self + "/Transpose", {context},
                                     {{"perm", {std::vector<std::int64_t>{0, 2, 1, 3}}}});
    const std::string merged = b_.node("Reshape", self + "/Reshape",
                                       {back, b_.constant("merged_shape", {0, 0, config_.hidden_size})});
    const std::string attended =
        project(scope + ".attention.output.dense", merged, config_.hidden_size, config_.hidden_size);
    const std::string first = b_.layer_norm(scope + ".attention.output.LayerNorm",
                                            b_.node("Add", scope + ".attention.output/Add", {attended, x}),
                                            config_.hidden_size, config_.layer_norm_eps);
    const std::string wide = b_.gelu(
        scope + ".intermediate",
        project(scope + ".intermediate.dense", first, config_.hidden_size, config_.intermediate_size));
    const std::string narrow =
        project(scope + ".output.dense", wide, config_.intermediate_size, config_.hidden_size);
    return b_.layer_norm(scope + ".output.LayerNorm", b_.node("Add", scope + ".output/Add", {narrow, first}),
                         config_.hidden_size, config_.layer_norm_eps);
  }

  void pooler(const std::string& x) {
    const std::string first =
        b_.node("Gather", "pooler/Gather", {x, b_.scalar_int("zero", 0)}, {{"axis", {std::int64_t{1}}}});
    b_.node("Tanh", "pooler/Tanh",
            {project("pooler.dense", first, config_.hidden_size, config_.hidden_size)});
  }

  const BertConfig& config_;
  GraphBuilder b_;
};

}  // namespace

ModelDefinition build_bert(const std::string& name, const BertConfig& config, Form form) {
  return BertBuilder(name, config, form).build();
}

}  // namespace touchstone
