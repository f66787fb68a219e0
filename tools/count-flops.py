#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the operations of networks of the zoo with PyTorch's own counter (matrix products and convolutions, a
multiply-add as two), into tests/data/flops.json: the public counter that tests/cli/models_test.cpp compares with.

    python3 -m venv v && v/bin/pip install torch==2.13.0 transformers==5.24.0
    v/bin/python tools/count-flops.py tests/data/flops.json
"""
import json
import sys

import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode


def tokens(seq):
    return {"input_ids": torch.ones(1, seq, dtype=torch.long)}


def pixels(size):
    return {"pixel_values": torch.zeros(1, 3, size, size)}


def models():
    """(name in the zoo, configuration, class, inputs), at the shape that the zoo states."""
    t = transformers
    yield "bert-base-cased", t.BertConfig(vocab_size=28996), t.BertModel, tokens(64)
    yield "distilbert-base-cased", t.DistilBertConfig(vocab_size=28996), t.DistilBertModel, tokens(64)
    yield "gpt2", t.GPT2Config(use_cache=False), t.GPT2Model, tokens(64)
    yield "resnet-50", t.ResNetConfig(num_labels=1000), t.ResNetForImageClassification, pixels(224)
    small = t.ResNetConfig(num_labels=1000, depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512], layer_type="basic")
    yield "resnet-18", small, t.ResNetForImageClassification, pixels(224)
    yield "vit-base", t.ViTConfig(num_labels=1000), t.ViTForImageClassification, pixels(224)


def main(path):
    counts = {}
    for name, config, kind, inputs in models():
        config._attn_implementation = "eager"
        model = kind(config).eval()
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            model(**inputs)
        counts[name] = counter.get_total_flops()
        print(name, counts[name])
    with open(path, "w") as file:
        json.dump(counts, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1])
