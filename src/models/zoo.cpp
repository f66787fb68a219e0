// SPDX-License-Identifier: Apache-2.0
#include "models/zoo.h"

#include "models/bert.h"

namespace touchstone {
namespace {

BertConfig bert_config(const std::string& name) {
  BertConfig config;
  if (name == "bert-base-chinese") {
    config.vocab_size = 21128;
  } else if (name == "bert-base-cased") {
    config.vocab_size = 28996;
  } else if (name == "bert-tiny") {
    config = {.vocab_size = 2000,
              .hidden_size = 128,
              .num_hidden_layers = 2,
              .num_attention_heads = 2,
              .intermediate_size = 512};
  }
  return config;
}

ModelDefinition bert(const ZooEntry& entry, Form form) {
  return build_bert(entry.name, bert_config(entry.name), form);
}

}  // namespace

const std::vector<ZooEntry>& zoo() {
  static const std::vector<ZooEntry> kZoo = {
      {"bert-base-chinese", "bert", "BERT base, 21128 Chinese characters and word pieces", 512, bert},
      {"bert-base-cased", "bert", "BERT base, 28996 cased word pieces", 512, bert},
      {"bert-base-uncased", "bert", "BERT base, 30522 lower-case word pieces", 512, bert},
      {"bert-tiny", "bert", "BERT of 2 layers and width 128, for tests", 512, bert},
  };
  return kZoo;
}

const ZooEntry* find_in_zoo(const std::string& name) {
  for (const ZooEntry& entry : zoo()) {
    if (entry.name == name) {
      return &entry;
    }
  }
  return nullptr;
}

}  // namespace touchstone
