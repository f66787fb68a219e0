// SPDX-License-Identifier: Apache-2.0
// The encoder with pooler that BERT (Devlin et al., 2018) and RoBERTa (Liu et al., 2019) share, as Hugging
// Face's models compute it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/builder.h"
#include "models/config.h"

namespace touchstone {

/// Field names are those of Hugging Face's config.json.
struct BertConfig {
  std::int64_t vocab_size = 30522;
  std::int64_t hidden_size = 768;
  std::int64_t num_hidden_layers = 12;
  std::int64_t num_attention_heads = 12;
  std::int64_t intermediate_size = 3072;
  std::int64_t max_position_embeddings = 512;
  std::int64_t type_vocab_size = 2;
  float layer_norm_eps = 1e-12F;
  float initializer_range = 0.02F;
  /// RoBERTa: positions count the tokens that are not this one, from it + 1; token types are all 0.
  std::optional<std::int64_t> padding_token = {};
  /// What stands on the encoder: `Model` (nothing but the pooler), `ForSequenceClassification`,
  /// `ForTokenClassification`, `ForQuestionAnswering` or `ForMaskedLM`.
  std::string head = "Model";
  std::int64_t num_labels = 2;
};

/// Inputs input_ids, attention_mask and, for BERT, token_type_ids (int64, [batch, seq]). Outputs
/// last_hidden_state [batch, seq, hidden] and pooler_output [batch, hidden], or the head's logits. Weights'
/// names are Hugging Face's, without the prefix of the base model.
ModelDefinition build_bert(const std::string& name, const BertConfig& config, Form form);

/// Reads the fields above. Errors: as ConfigFields::check.
Result<BertConfig> bert_config(const nlohmann::json& config, const BertConfig& defaults);

}  // namespace touchstone
