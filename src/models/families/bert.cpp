// SPDX-License-Identifier: Apache-2.0
// BERT (Devlin et al., 2018).
#include "models/bert_encoder.h"
#include "models/zoo.h"

namespace touchstone::architectures {
namespace {

ZooEntry entry(const std::string& name, const std::string& description, const BertConfig& config) {
  return {name, description, config.max_position_embeddings, {{"batch", 1}, {"seq", 64}}, [=](Form form) {
            return build_bert(name, config, form);
          }};
}

Result<ZooEntry> from_config(const std::string& name, const nlohmann::json& json) {
  TOUCHSTONE_ASSIGN(const BertConfig config, bert_config(json, {}));
  return entry(name, "a checkpoint of BERT", config);
}

}  // namespace

Family bert() {
  return {"bert",
          {entry("bert-base-chinese", "BERT base, 21128 Chinese characters and word pieces",
                 {.vocab_size = 21128}),
           entry("bert-base-cased", "BERT base, 28996 cased word pieces", {.vocab_size = 28996}),
           entry("bert-base-uncased", "BERT base, 30522 lower-case word pieces", {}),
           entry("bert-tiny", "BERT of 2 layers and width 128, for tests",
                 {.vocab_size = 2000,
                  .hidden_size = 128,
                  .num_hidden_layers = 2,
                  .num_attention_heads = 2,
                  .intermediate_size = 512})},
          from_config};
}

}  // namespace touchstone::architectures
