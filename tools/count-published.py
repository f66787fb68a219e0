#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the parameters of the published models, for tests/models/zoo_test.cpp, and their operations at the shape that
the zoo states, into tests/data/flops.json. The operations are those of PyTorch's own counter: matrix products and
convolutions, a multiply-add as two.

    python3 -m venv v && v/bin/pip install torch==2.13.0 transformers==5.24.0
    v/bin/python tools/count-published.py tests/data/flops.json

Transformer-XL left transformers after 4.35: under `transformers==4.35.2 numpy==1.26.4` this counts it alone.
"""
import json
import sys

import torch
import transformers as hf
from torch.utils.flop_counter import FlopCounterMode

TOKENS = 64
PIXELS = 224

PUBLISHED = {"transfo-xl-wt103": (hf.TransfoXLModel, hf.TransfoXLConfig())} if hasattr(hf, "TransfoXLModel") else {
    "bert-base-chinese": (hf.BertModel, hf.BertConfig(vocab_size=21128)),
    "bert-base-cased": (hf.BertModel, hf.BertConfig(vocab_size=28996)),
    "bert-base-uncased": (hf.BertModel, hf.BertConfig()),
    "roberta-base": (hf.RobertaModel, hf.RobertaConfig(vocab_size=50265, max_position_embeddings=514, type_vocab_size=1)),
    "distilbert-base-uncased": (hf.DistilBertModel, hf.DistilBertConfig()),
    "distilbert-base-cased": (hf.DistilBertModel, hf.DistilBertConfig(vocab_size=28996)),
    "gpt2": (hf.GPT2Model, hf.GPT2Config()),
    "distilgpt2": (hf.GPT2Model, hf.GPT2Config(n_layer=6)),
    "openai-gpt": (hf.OpenAIGPTModel, hf.OpenAIGPTConfig()),
    "xlnet-base-cased": (hf.XLNetModel, hf.XLNetConfig(d_model=768, n_layer=12, n_head=12, d_inner=3072)),
    "xlm-mlm-en-2048": (hf.XLMModel, hf.XLMConfig(vocab_size=30145, emb_dim=2048, n_layers=12, n_heads=16, n_langs=1)),
    "ctrl": (hf.CTRLModel, hf.CTRLConfig()),
    "modernbert-base": (hf.ModernBertModel, hf.ModernBertConfig()),
    "vit-base": (hf.ViTForImageClassification, hf.ViTConfig(num_labels=1000)),
    "resnet-18": (hf.ResNetForImageClassification,
                  hf.ResNetConfig(num_labels=1000, depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512], layer_type="basic")),
    "resnet-50": (hf.ResNetForImageClassification, hf.ResNetConfig(num_labels=1000)),
}


def inputs_of(model):
    if model.main_input_name == "pixel_values":
        return {"pixel_values": torch.zeros(1, 3, PIXELS, PIXELS)}
    return {"input_ids": torch.ones(1, TOKENS, dtype=torch.long)}


def main(path):
    with open(path) as file:
        counts = json.load(file)
    for name, (kind, config) in PUBLISHED.items():
        config._attn_implementation = "eager"
        model = kind(config).eval()
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            model(**inputs_of(model))
        counts[name] = counter.get_total_flops()
        print(name, sum(parameter.numel() for parameter in model.parameters()), "parameters", counts[name], "operations")
    with open(path, "w") as file:
        json.dump(counts, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
