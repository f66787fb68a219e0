// SPDX-License-Identifier: Apache-2.0
#include "models/bert_encoder.h"

#include "models/transformer.h"

namespace touchstone {
namespace {

class BertBuilder {
 public:
  BertBuilder(const std::string& name, const BertConfig& config, Form form)
      : config_(config), b_(name, form) {}

  ModelDefinition build() && {
    b_.input("input_ids", DataType::kInt64, {"batch", "seq"});
    b_.input("attention_mask", DataType::kInt64, {"batch", "seq"});
    if (!config_.padding_token) {
      b_.input("token_type_ids", DataType::kInt64, {"batch", "seq"});
    }
    std::string x = embeddings();
    const std::string mask = padding_mask(b_, "attention_mask");
    for (std::int64_t i = 0; i < config_.num_hidden_layers; ++i) {
      x = layer("encoder.layer." + std::to_string(i), x, mask);
    }
    head(x);
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
    const std::string position =
        b_.node("Gather", "embeddings/position",
                {table("position_embeddings", config_.max_position_embeddings), positions()});
    const std::string types = table("token_type_embeddings", config_.type_vocab_size);
    const std::string type = config_.padding_token
                                 ? b_.node("Gather", "embeddings/type", {types, b_.constant("start_0", {0})})
                                 : b_.node("Gather", "embeddings/type", {types, "token_type_ids"});
    const std::string sum = b_.node("Add", "embeddings/Add", {words, type});
    const std::string all = b_.node("Add", "embeddings/Add_1", {sum, position});
    // The slice of positions has no known length; engines that fuse by shape need to hear that this is seq
    // again.
    b_.shape_is(all, {"batch", "seq", std::to_string(config_.hidden_size)});
    return b_.layer_norm("embeddings.LayerNorm", all, config_.hidden_size, config_.layer_norm_eps);
  }

  std::string positions() {
    if (config_.padding_token) {
      const std::string padding = b_.scalar_int("embeddings/padding", *config_.padding_token);
      const std::string equal = b_.node("Equal", "embeddings/Equal", {"input_ids", padding});
      const std::string token =
          b_.node("Cast", "embeddings/Cast", {b_.node("Not", "embeddings/Not", {equal})},
                  {{"to", {std::int64_t{7}}}});
      const std::string count = b_.node("CumSum", "embeddings/CumSum", {token, b_.scalar_int("one", 1)});
      return b_.node("Add", "embeddings/position_ids",
                     {b_.node("Mul", "embeddings/Mul", {count, token}), padding});
    }
    // 0 … seq-1, as a slice of a constant: the form that exporters of BERT leave behind.
    const std::string end = b_.node("Unsqueeze", "embeddings/end",
                                    {sequence_length(b_, "input_ids"), b_.constant("axis_0", {0})});
    return b_.node("Slice", "embeddings/position_ids",
                   {position_ids(), b_.constant("start_0", {0}), end, b_.constant("axis_1", {1}),
                    b_.constant("step_1", {1})});
  }

  std::string position_ids() {
    std::vector<std::int64_t> values(static_cast<std::size_t>(config_.max_position_embeddings));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<std::int64_t>(i);
    }
    return b_.constant_of_shape("embeddings.position_ids", {1, config_.max_position_embeddings}, values);
  }

  std::string project(const std::string& scope, const std::string& x, std::int64_t in, std::int64_t out) {
    return b_.linear(scope, x, in, out, config_.initializer_range, kBiasDeviation);
  }

  std::string layer(const std::string& scope, const std::string& x, const std::string& mask) {
    const std::string self = scope + ".attention.self";
    const std::string merged =
        self_attention(b_,
                       {self, self + ".query", self + ".key", self + ".value", config_.hidden_size,
                        config_.num_attention_heads, config_.initializer_range},
                       x, mask);
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

  std::string pooler(const std::string& x) {
    const std::string first =
        b_.node("Gather", "pooler/Gather", {x, b_.scalar_int("zero", 0)}, {{"axis", {std::int64_t{1}}}});
    return b_.node("Tanh", "pooler/Tanh",
                   {project("pooler.dense", first, config_.hidden_size, config_.hidden_size)});
  }

  void head(const std::string& x) {
    const std::string width = std::to_string(config_.hidden_size);
    const std::string labels = std::to_string(config_.num_labels);
    if (config_.head == "Model") {
      b_.rename_last_output("last_hidden_state");
      pooler("last_hidden_state");
      b_.rename_last_output("pooler_output");
      b_.output("last_hidden_state", DataType::kFloat, {"batch", "seq", width});
      b_.output("pooler_output", DataType::kFloat, {"batch", width});
    } else if (config_.head == "ForSequenceClassification") {
      config_.padding_token ? roberta_classifier(x)
                            : project("classifier", pooler(x), config_.hidden_size, config_.num_labels);
      b_.rename_last_output("logits");
      b_.output("logits", DataType::kFloat, {"batch", labels});
    } else if (config_.head == "ForMaskedLM") {
      config_.padding_token ? language_head(x, "lm_head.dense", "lm_head.layer_norm", "lm_head.bias")
                            : language_head(x, "cls.predictions.transform.dense",
                                            "cls.predictions.transform.LayerNorm", "cls.predictions.bias");
      b_.rename_last_output("logits");
      b_.output("logits", DataType::kFloat, {"batch", "seq", std::to_string(config_.vocab_size)});
    } else {  // one linear layer on every position
      const bool answers = config_.head == "ForQuestionAnswering";
      project(answers ? "qa_outputs" : "classifier", x, config_.hidden_size, config_.num_labels);
      b_.rename_last_output("logits");
      b_.output("logits", DataType::kFloat, {"batch", "seq", labels});
    }
  }

  std::string roberta_classifier(const std::string& x) {
    const std::string first =
        b_.node("Gather", "classifier/Gather", {x, b_.scalar_int("zero", 0)}, {{"axis", {std::int64_t{1}}}});
    const std::string wide =
        b_.node("Tanh", "classifier/Tanh",
                {project("classifier.dense", first, config_.hidden_size, config_.hidden_size)});
    return project("classifier.out_proj", wide, config_.hidden_size, config_.num_labels);
  }

  // The decoder's weights are the table of word embeddings, transposed.
  std::string language_head(const std::string& x, const std::string& dense, const std::string& norm,
                            const std::string& bias) {
    const std::string wide = b_.gelu("lm_head", project(dense, x, config_.hidden_size, config_.hidden_size));
    const std::string normal = b_.layer_norm(norm, wide, config_.hidden_size, config_.layer_norm_eps);
    const std::string turned =
        b_.node("Transpose", "lm_head/Transpose", {"embeddings.word_embeddings.weight"},
                {{"perm", {std::vector<std::int64_t>{1, 0}}}});
    const std::string scores = b_.node("MatMul", "lm_head/MatMul", {normal, turned});
    return b_.node("Add", "lm_head/logits",
                   {scores, b_.weight(bias, {config_.vocab_size}, 0, kBiasDeviation)});
  }

  const BertConfig& config_;
  GraphBuilder b_;
};

}  // namespace

ModelDefinition build_bert(const std::string& name, const BertConfig& config, Form form) {
  return BertBuilder(name, config, form).build();
}

Result<BertConfig> bert_config(const nlohmann::json& config, const BertConfig& defaults) {
  BertConfig c = defaults;
  ConfigFields fields(config);
  c.vocab_size = fields.size("vocab_size", c.vocab_size);
  c.hidden_size = fields.size("hidden_size", c.hidden_size);
  c.num_hidden_layers = fields.size("num_hidden_layers", c.num_hidden_layers);
  c.num_attention_heads = fields.size("num_attention_heads", c.num_attention_heads);
  c.intermediate_size = fields.size("intermediate_size", c.intermediate_size);
  c.max_position_embeddings = fields.size("max_position_embeddings", c.max_position_embeddings);
  c.type_vocab_size = fields.size("type_vocab_size", c.type_vocab_size);
  c.layer_norm_eps = fields.real("layer_norm_eps", c.layer_norm_eps);
  fields.divides("num_attention_heads", c.num_attention_heads, "hidden_size", c.hidden_size);
  fields.expect("hidden_act", "gelu", {"gelu"});
  fields.expect("position_embedding_type", "absolute", {"absolute"});
  fields.expect_flag("is_decoder", false);
  fields.expect_flag("add_cross_attention", false);
  TOUCHSTONE_TRY(fields.check());
  TOUCHSTONE_ASSIGN(c.head, head_of(config, {"Model", "ForSequenceClassification", "ForTokenClassification",
                                             "ForQuestionAnswering", "ForMaskedLM"}));
  c.num_labels = c.head == "ForQuestionAnswering" ? 2 : label_count(config);
  return c;
}

}  // namespace touchstone
