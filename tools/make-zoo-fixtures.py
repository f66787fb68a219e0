#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/zoo-outputs.json: what PyTorch computes, in double precision, with the zoo's own weights for the
networks that are no transformers. Inputs are a formula (see below), so that only outputs need storing.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install torch==2.13.0 torchvision==0.28.0 numpy
    /tmp/venv/bin/python tools/make-zoo-fixtures.py [BUILD_FOLDER]
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch import nn

# torchvision's wheel may not load its compiled operators beside PyTorch's CPU build; its models do without them, but
# for two names that it registers shapes for.
for operator in ("nms", "qnms"):
    torch.library.define(f"torchvision::{operator}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
import torchvision  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build")


def images(*shape):
    """Element i is ((i * 7919) % 2003) / 1001.5 - 1: the same in the test, without a generator."""
    i = np.arange(np.prod(shape), dtype=np.int64)
    return torch.tensor(((i * 7919) % 2003) / 1001.5 - 1, dtype=torch.float64).reshape(shape)


def words(*shape):
    i = np.arange(np.prod(shape), dtype=np.int64)
    return torch.tensor((i * 7919) % 30000).reshape(shape)


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 50, 3, padding=1)
        self.conv2 = nn.Conv2d(50, 50, 3, padding=1)
        self.conv3 = nn.Conv2d(50, 100, 3, padding=1)
        self.conv4 = nn.Conv2d(100, 100, 3, padding=1)
        self.fc1 = nn.Linear(6400, 512)
        self.fc2 = nn.Linear(512, 10)

    def forward(self, x):
        x = torch.relu(self.conv2(torch.relu(self.conv1(x))))
        x = nn.functional.max_pool2d(x, 2)
        x = torch.relu(self.conv4(torch.relu(self.conv3(x))))
        x = nn.functional.max_pool2d(x, 2)
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))


class Gru(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30000, 125)
        self.gru = nn.GRU(125, 100, batch_first=True)
        self.fc = nn.Linear(100, 2)

    def forward(self, x):
        return self.fc(self.gru(self.embedding(x))[1][0])


def cut(model):
    model.fc = nn.Identity()
    return model


MODELS = {
    "rosetta-cnn": (Cnn, images(2, 3, 32, 32)),
    "rosetta-gru": (Gru, words(2, 30)),
    "resnet-18": (torchvision.models.resnet18, images(1, 3, 224, 224)),
    "resnet-50-features": (lambda: cut(torchvision.models.resnet50()), images(1, 3, 224, 224)),
    "densenet-121": (torchvision.models.densenet121, images(1, 3, 224, 224)),
}


def zoo_weights(name, home):
    answer = subprocess.run([BUILD / "bin/touchstone-model", "prepare", name, "--home", home], check=True, capture_output=True)
    bundle = json.loads(answer.stdout)
    graph = json.loads(pathlib.Path(bundle["forms"]["source"]["graph"]).read_text())
    data = np.fromfile(pathlib.Path(bundle["folder"]) / "weights.bin", dtype=np.uint8)
    weights = {}
    for key, constant in graph["initializers"].items():
        if constant.get("file"):
            part = data[constant["offset"]:constant["offset"] + constant["size"]].view(np.float32)
            weights[key] = torch.tensor(part.reshape(constant["shape"]))
    return weights


def gru_state(weights):
    """ONNX orders the gates update, reset, new; PyTorch reset, update, new."""
    def in_order(matrix):
        update, reset, new = matrix.chunk(3)
        return torch.cat([reset, update, new])
    bias_in, bias_state = weights["gru.B"][0].chunk(2)
    return {"embedding.weight": weights["embedding.weight"], "gru.weight_ih_l0": in_order(weights["gru.W"][0]),
            "gru.weight_hh_l0": in_order(weights["gru.R"][0]), "gru.bias_ih_l0": in_order(bias_in),
            "gru.bias_hh_l0": in_order(bias_state), "fc.weight": weights["fc.weight"].T, "fc.bias": weights["fc.bias"]}


def main():
    results = {}
    with tempfile.TemporaryDirectory() as home:
        for name, (make, x) in MODELS.items():
            model = make().double().eval()
            weights = zoo_weights(name, home)
            if name == "rosetta-gru":
                state = gru_state(weights)
            else:  # the zoo keeps the matrices of linear layers as [in, out]
                state = {key: value.T if value.dim() == 2 else value for key, value in weights.items()}
            kept = {key: value for key, value in model.state_dict().items() if key.endswith("num_batches_tracked")}
            model.load_state_dict({**{key: value.double() for key, value in state.items()}, **kept})
            with torch.no_grad():
                out = model(x).flatten().tolist()
            results[name] = {"shape": list(x.shape), "parameters": sum(p.numel() for p in model.parameters()), "output": out}
            print(name, len(out), results[name]["parameters"], min(out), max(out))
    (ROOT / "tests/data/zoo-outputs.json").write_text(json.dumps(results) + "\n")


main()
