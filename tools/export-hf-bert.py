#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports Hugging Face's BertModel to ONNX with random weights, in the ways its users do.

    export-hf-bert.py FOLDER [--model bert-base-chinese]

writes torchscript.onnx and dynamo.onnx (PyTorch's two exporters) and, for each, *-optimized.onnx (ONNX Runtime's
transformers optimizer, model type bert). Needs torch, transformers, onnx, onnxscript and onnxruntime;
benchmarks/zoo-against-export makes an environment that has them.
"""
import argparse
import pathlib

import onnx
import torch
from transformers import BertConfig, BertModel

# The zoo's configurations, as src/models/zoo.cpp has them.
CONFIGURATIONS = {
    "bert-base-chinese": {"vocab_size": 21128},
    "bert-base-cased": {"vocab_size": 28996},
    "bert-base-uncased": {"vocab_size": 30522},
    "bert-tiny": {
        "vocab_size": 2000,
        "hidden_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 512,
    },
    # The size of tests/data/bert-export-*.onnx (made before biases and gains were perturbed).
    "test": {
        "vocab_size": 20,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 24,
    },
}
INPUTS = ["input_ids", "attention_mask", "token_type_ids"]
OUTPUTS = ["last_hidden_state", "pooler_output"]


class Plain(torch.nn.Module):
    """BertModel with its inputs by position and its outputs as a tuple, which exporters want."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        out = self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids)
        return out.last_hidden_state, out.pooler_output


def bert(name, attention):
    torch.manual_seed(1)
    config = BertConfig(**CONFIGURATIONS[name])
    config._attn_implementation = attention
    model = BertModel(config).eval()
    # A new model's biases are 0 and its gains 1; OpenVINO drops both, as no trained model's would let it.
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if key.endswith("bias") or "LayerNorm" in key:
                parameter.add_(torch.randn_like(parameter), alpha=0.02)
    return Plain(model).eval()


def example():
    ids = torch.randint(0, 20, (2, 16))
    return ids, torch.ones_like(ids), torch.zeros_like(ids)


def export_torchscript(name, path):
    # Its tracer cannot follow the mask that the `sdpa` implementation builds; `eager` is what works.
    axes = {key: {0: "batch", 1: "seq"} for key in INPUTS + OUTPUTS[:1]} | {"pooler_output": {0: "batch"}}
    torch.onnx.export(
        bert(name, "eager"), example(), path, dynamo=False, opset_version=17, input_names=INPUTS,
        output_names=OUTPUTS, dynamic_axes=axes,
    )


def export_dynamo(name, path):
    batch, seq = torch.export.Dim("batch"), torch.export.Dim("seq", max=24 if name == "test" else 512)
    torch.onnx.export(
        bert(name, "sdpa"), example(), path, dynamo=True, opset_version=20, input_names=INPUTS,
        output_names=OUTPUTS, dynamic_shapes=({0: batch, 1: seq},) * 3, external_data=False,
    )


def without_traces(path):
    """Drops the stack traces that the exporters write down: they name folders of this machine."""
    model = onnx.load(path)
    for item in [model, model.graph, *model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output]:
        item.doc_string = ""
        del item.metadata_props[:]
    onnx.save(model, path)


def optimize(name, source, path):
    from onnxruntime.transformers import optimizer

    config = BertConfig(**CONFIGURATIONS[name])
    model = optimizer.optimize_model(
        source, model_type="bert", num_heads=config.num_attention_heads, hidden_size=config.hidden_size,
        opt_level=0, use_gpu=False,
    )
    model.save_model_to_file(path)
    print(pathlib.Path(path).name, model.get_fused_operator_statistics(), flush=True)


def main():
    parser = argparse.ArgumentParser(description="Export Hugging Face's BertModel to ONNX with random weights.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--model", choices=sorted(CONFIGURATIONS), default="bert-base-chinese")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for exporter, export in (("torchscript", export_torchscript), ("dynamo", export_dynamo)):
        plain = str(options.folder / f"{exporter}.onnx")
        with torch.inference_mode():
            export(options.model, plain)
        without_traces(plain)
        optimize(options.model, plain, str(options.folder / f"{exporter}-optimized.onnx"))


if __name__ == "__main__":
    main()
