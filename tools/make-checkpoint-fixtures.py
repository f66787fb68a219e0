#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/checkpoints/: for each transformer family a tiny random checkpoint, as Hugging Face transformers
saves it, and expected.safetensors with inputs (padding in the mask, two lengths, token types where there are any) and
the outputs of its model in double precision.

    python3 -m venv /tmp/venv && /tmp/venv/bin/pip install torch==2.13.0 transformers safetensors numpy
    /tmp/venv/bin/python tools/make-checkpoint-fixtures.py

Transformer-XL left transformers after 4.35: under `transformers==4.35.2 numpy==1.26.4` this makes its fixtures only, in
single precision, which that model's mask insists on.
"""

import pathlib
import shutil
import sys

import torch
import transformers as hf
from safetensors.torch import save_file

OUT = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data" / "checkpoints"

# initializer_range 0.1 · sqrt(32): activations as large as those of width 768 with 0.02.
BERT = dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
            max_position_embeddings=40, initializer_range=0.1)
GPT = dict(vocab_size=100, n_positions=40, n_embd=32, n_layer=2, n_head=4, initializer_range=0.1)
LLAMA = dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             intermediate_size=48, max_position_embeddings=40, initializer_range=0.1)

TRANSFO_XL = dict(vocab_size=100, cutoffs=[20, 50], d_model=32, d_embed=32, n_head=4, d_head=6, d_inner=64, div_val=2,
                  n_layer=2, mem_len=6, clamp_len=10, init_std=0.1, proj_init_std=0.2)


def of_older_transformers():
    return {
        "transfo-xl": (hf.TransfoXLModel, hf.TransfoXLConfig(same_length=True, untie_r=True, **TRANSFO_XL), (), "safetensors"),
        "transfo-xl-pre-norm": (hf.TransfoXLModel,
                                hf.TransfoXLConfig(same_length=False, untie_r=False, pre_lnorm=True,
                                                   **{**TRANSFO_XL, "div_val": 1, "clamp_len": -1}), (), "pickle"),
        "transfo-xl-no-memory": (hf.TransfoXLModel,
                                 hf.TransfoXLConfig(same_length=False, untie_r=True, **{**TRANSFO_XL, "mem_len": 0}), (),
                                 "safetensors"),
    }


# folder -> model, configuration, the inputs it takes, how it is saved
FIXTURES = of_older_transformers() if hasattr(hf, "TransfoXLModel") else {
    "bert": (hf.BertModel, hf.BertConfig(**BERT), ("mask", "types"), "safetensors"),
    "bert-pickle": (hf.BertForSequenceClassification, hf.BertConfig(num_labels=3, **BERT), ("mask", "types"), "pickle"),
    "bert-masked-lm": (hf.BertForMaskedLM, hf.BertConfig(**BERT), ("mask", "types"), "shards"),
    "bert-tokens": (hf.BertForTokenClassification, hf.BertConfig(num_labels=5, **BERT), ("mask", "types"), "safetensors"),
    "bert-answers": (hf.BertForQuestionAnswering, hf.BertConfig(**BERT), ("mask", "types"), "safetensors"),
    "roberta": (hf.RobertaModel, hf.RobertaConfig(**{**BERT, "type_vocab_size": 1}), ("mask",), "safetensors"),
    "roberta-classifier": (hf.RobertaForSequenceClassification,
                           hf.RobertaConfig(**{**BERT, "type_vocab_size": 1, "num_labels": 3}), ("mask",), "safetensors"),
    "distilbert": (hf.DistilBertModel, hf.DistilBertConfig(vocab_size=100, dim=32, n_layers=2, n_heads=4, hidden_dim=64,
                                                           max_position_embeddings=40, initializer_range=0.1),
                   ("mask",), "safetensors"),
    "gpt2": (hf.GPT2Model, hf.GPT2Config(**GPT), ("mask",), "safetensors"),
    "gpt2-lm-bf16": (hf.GPT2LMHeadModel, hf.GPT2Config(**GPT), ("mask",), "bfloat16"),
    "openai-gpt": (hf.OpenAIGPTModel, hf.OpenAIGPTConfig(**GPT), ("mask",), "safetensors"),
    "xlnet": (hf.XLNetModel, hf.XLNetConfig(vocab_size=100, d_model=32, n_layer=2, n_head=4, d_inner=64,
                                            initializer_range=0.1), ("mask", "types"), "safetensors"),
    "xlm": (hf.XLMModel, hf.XLMConfig(vocab_size=100, emb_dim=32, n_layers=2, n_heads=4, max_position_embeddings=40,
                                      n_langs=1, init_std=0.1), ("mask",), "safetensors"),
    "ctrl": (hf.CTRLModel, hf.CTRLConfig(vocab_size=100, n_positions=40, n_embd=32, dff=64, n_layer=2, n_head=4,
                                         initializer_range=0.1), ("mask",), "safetensors"),
    "llama": (hf.LlamaModel, hf.LlamaConfig(**LLAMA), ("mask",), "safetensors"),
    "llama-lm-f16": (hf.LlamaForCausalLM, hf.LlamaConfig(tie_word_embeddings=True, **LLAMA), ("mask",), "float16"),
    "modernbert": (hf.ModernBertModel,
                   hf.ModernBertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=4, num_attention_heads=4,
                                       intermediate_size=48, max_position_embeddings=64, local_attention=6, pad_token_id=0,
                                       bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2,
                                       initializer_range=0.1), ("mask",), "safetensors"),
    "vit": (hf.ViTForImageClassification,
            hf.ViTConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32,
                         patch_size=8, num_labels=7, initializer_range=0.1), ("pixels",), "safetensors"),
}


def perturb(model):
    """Biases of zero and gains of one would hide a lost one."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(0, 0.02)
            elif parameter.dim() == 1:
                parameter.copy_(1 + 0.02 * torch.randn_like(parameter))


def inputs_of(takes, batch, seq, config, generator):
    if takes == ("pixels",):
        return {"pixel_values": torch.randn((batch, 3, config.image_size, config.image_size), generator=generator)}
    made = {"input_ids": torch.randint(2, 100, (batch, seq), generator=generator)}
    if not takes:
        return made
    mask = torch.ones((batch, seq), dtype=torch.int64)
    mask[0, seq - 3:] = 0
    made["input_ids"][0, seq - 3:] = 1  # RoBERTa's padding token, which its positions skip
    made["attention_mask"] = mask
    if "types" in takes:
        made["token_type_ids"] = torch.randint(0, 2, (batch, seq), generator=generator)
    return made


def outputs_of(model, made):
    out = model(**made)
    if "start_logits" in out:
        return {"logits": torch.stack([out.start_logits, out.end_logits], dim=-1)}
    return {name: out[name] for name in ("last_hidden_state", "pooler_output", "logits") if name in out and out[name] is not None}


def save(model, how, folder):
    if how == "pickle":
        model.config.architectures = [type(model).__name__]
        model.config.save_pretrained(folder)
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
    elif how == "shards":
        model.save_pretrained(folder, max_shard_size="40KB")
    else:
        model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)


def loaded(kind, folder):
    """As a user loads it: buffers such as rotary frequencies are made anew, in float32."""
    if kind.__name__ == "TransfoXLModel":
        return kind.from_pretrained(folder).eval()
    return kind.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").double().eval()


def make(name):
    kind, config, takes, how = FIXTURES[name]
    torch.manual_seed(7)
    config._attn_implementation = "eager"
    if hasattr(config, "use_mems_eval"):
        config.use_mems_eval = False
    model = kind(config).eval()
    perturb(model)
    if how in ("bfloat16", "float16"):
        model = model.to(getattr(torch, how))
    folder = OUT / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    save(model, how, folder)
    precise = loaded(kind, folder)
    generator = torch.Generator().manual_seed(3)
    stored = {}
    for case, (batch, seq) in enumerate(((2, 12), (3, 7))):
        made = inputs_of(takes, batch, seq, config, generator)
        with torch.no_grad():
            feed = {key: value.double() if value.is_floating_point() else value for key, value in made.items()}
            out = outputs_of(precise, feed)
        for key, value in {**made, **out}.items():
            stored[f"{case}.{key}"] = value.contiguous()
    save_file(stored, folder / "expected.safetensors")
    print(name, sum(f.stat().st_size for f in folder.iterdir()), "bytes", sorted(key for key in stored if key[0] == "0"))


for label in sys.argv[1:] or FIXTURES:
    make(label)
