// SPDX-License-Identifier: Apache-2.0
// BERT's encoder with pooler (Devlin et al., 2018), as Hugging Face's BertModel computes it.
#pragma once

#include <cstdint>
#include <string>

#include "models/builder.h"

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
};

/// Inputs input_ids, attention_mask, token_type_ids (int64, [batch, seq]); outputs last_hidden_state
/// [batch, seq, hidden] and pooler_output [batch, hidden]. Linear weights lie as [in, out]; their names are
/// Hugging Face's. Biases and LayerNorm gains are perturbed by 0.02 where BERT starts them at 0 and 1: with
/// those, a lost bias or gain could not be seen.
ModelDefinition build_bert(const std::string& name, const BertConfig& config, Form form);

}  // namespace touchstone
