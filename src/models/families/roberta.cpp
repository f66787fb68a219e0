// SPDX-License-Identifier: Apache-2.0
// RoBERTa (Liu et al., 2019): BERT without token types, its positions counted from the padding token's id.
#include "models/bert_encoder.h"
#include "models/zoo.h"

namespace touchstone::architectures {
namespace {

constexpr std::int64_t kPadding = 1;

BertConfig base() {
  return {.vocab_size = 50265,
          .max_position_embeddings = 514,
          .type_vocab_size = 1,
          .layer_norm_eps = 1e-5F,
          .padding_token = kPadding};
}

ZooEntry entry(const std::string& name, const std::string& description, const BertConfig& config) {
  const std::int64_t limit = config.max_position_embeddings - *config.padding_token - 1;
  return {name, description, limit, {{"batch", 1}, {"seq", 64}}, [=](Form form) {
            return build_bert(name, config, form);
          }};
}

Result<ZooEntry> from_config(const std::string& name, const nlohmann::json& json) {
  TOUCHSTONE_ASSIGN(BertConfig config, bert_config(json, base()));
  ConfigFields fields(json);
  config.padding_token = fields.size("pad_token_id", kPadding);
  TOUCHSTONE_TRY(fields.check());
  if (config.max_position_embeddings <= *config.padding_token + 1) {
    return fail(
        Reason::kInvalidModel,
        "config.json: 'max_position_embeddings' is {}; with the padding token {} that leaves no position",
        config.max_position_embeddings, *config.padding_token);
  }
  return entry(name, "a checkpoint of RoBERTa", config);
}

}  // namespace

Family roberta() {
  return {"roberta", {entry("roberta-base", "RoBERTa base, 50265 byte pairs", base())}, from_config};
}

}  // namespace touchstone::architectures
