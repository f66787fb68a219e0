#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/bert-fixture.json: a small random BertModel of Hugging Face transformers, its weights, inputs with
padding, two lengths and token types, and its outputs in double precision.

Needs torch and transformers; run it in an environment of its own:
    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install torch==2.13.0 transformers numpy
    /tmp/venv/bin/python tools/make-bert-fixtures.py
"""

import base64
import json
import pathlib

import numpy as np
import torch
from transformers import BertConfig, BertModel

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "bert-fixture.json"


def packed(array):
    """The bytes of an array, little-endian, in base64."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def main():
    torch.manual_seed(7)
    config = BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
                        max_position_embeddings=40, initializer_range=0.1,
                        attn_implementation="eager")  # 0.1·√32: activations as large as BERT-base has with 0.02·√768
    model = BertModel(config).eval()
    with torch.no_grad():  # biases of zero and gains of one would hide a lost one
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(0, 0.02)
            elif "LayerNorm.weight" in name:
                parameter.copy_(1 + 0.02 * torch.randn_like(parameter))
    weights = {}
    for name, parameter in model.named_parameters():
        # Linear layers keep [out, in]; the zoo's graphs multiply by [in, out].
        linear = parameter.dim() == 2 and "embeddings" not in name
        value = parameter.detach().numpy()
        weights[name] = {"shape": list((value.T if linear else value).shape), "data": packed(value.T if linear else value)}
    cases = []
    double = model.double()
    generator = np.random.default_rng(3)
    for batch, seq in ((2, 12), (3, 7)):
        ids = generator.integers(0, 100, (batch, seq))
        types = generator.integers(0, 2, (batch, seq))
        mask = np.ones((batch, seq), dtype=np.int64)
        mask[0, seq - 3:] = 0
        mask[-1, seq - 1:] = 0
        with torch.no_grad():
            out = double(input_ids=torch.tensor(ids), attention_mask=torch.tensor(mask), token_type_ids=torch.tensor(types))
        cases.append({"batch": batch, "seq": seq, "input_ids": ids.flatten().tolist(),
                      "attention_mask": mask.flatten().tolist(), "token_type_ids": types.flatten().tolist(),
                      "last_hidden_state": packed(out.last_hidden_state.numpy()),
                      "pooler_output": packed(out.pooler_output.numpy())})
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps({
        "config": {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
                   "intermediate_size": 64, "max_position_embeddings": 40, "type_vocab_size": 2,
                   "layer_norm_eps": config.layer_norm_eps},
        "weights": weights, "cases": cases}) + "\n")
    print(f"{OUT}: {OUT.stat().st_size} bytes")


main()
