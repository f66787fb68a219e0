# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's BertModel as a Python user runs it: hf_bert.py BATCH SEQ THREADS.

For every line "N" on standard input, N inferences are timed one by one and their median in nanoseconds is printed.
"""
import gc
import statistics
import sys
import time

import torch
from transformers import BertConfig, BertModel


def main():
    batch, seq, threads = map(int, sys.argv[1:4])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = BertModel(BertConfig(vocab_size=21128)).eval()
    inputs = {
        "input_ids": torch.randint(5, 1000, (batch, seq)),
        "attention_mask": torch.ones(batch, seq, dtype=torch.int64),
        "token_type_ids": torch.zeros(batch, seq, dtype=torch.int64),
    }
    gc.disable()
    with torch.inference_mode():
        for line in sys.stdin:
            times = []
            for _ in range(int(line)):
                begin = time.perf_counter_ns()
                model(**inputs)
                times.append(time.perf_counter_ns() - begin)
            print(statistics.median(times), flush=True)


main()
