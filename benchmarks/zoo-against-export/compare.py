# SPDX-License-Identifier: Apache-2.0
"""Times ONNX files of the same model side by side and prints the zoo's time over each of the others.

Every round takes each model once, in shuffled order: an untimed inference, then the quickest of a few. A ratio is
the median over rounds of the paired ratios; the interval is the order statistic of at least 95 %.
"""
import argparse
import math
import pathlib
import random
import statistics
import time

import numpy

BAR = 1.02


def inputs(batch, seq):
    generator = numpy.random.default_rng(1)
    return {
        "input_ids": generator.integers(5, 1000, (batch, seq)),
        "attention_mask": numpy.ones((batch, seq), numpy.int64),
        "token_type_ids": numpy.zeros((batch, seq), numpy.int64),
    }


def onnxruntime_session(path, batch, seq, fixed, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Idle sessions would otherwise spin beside the one that is timed.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if fixed:
        options.add_free_dimension_override_by_name("batch", batch)
        options.add_free_dimension_override_by_name("seq", seq)
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = inputs(batch, seq)
    return lambda: session.run(None, feed)


def openvino_session(path, batch, seq, fixed, threads):
    import openvino

    core = openvino.Core()
    model = core.read_model(path)
    if fixed:
        model.reshape({key.any_name: [batch, seq] for key in model.inputs})
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": "1"}
    request = core.compile_model(model, "CPU", settings).create_infer_request()
    feed = inputs(batch, seq)
    return lambda: request.infer(feed)


ENGINES = {"onnxruntime": onnxruntime_session, "openvino": openvino_session}


def quickest(run, count, clock):
    run()
    best = math.inf
    for _ in range(count):
        begin = clock()
        run()
        best = min(best, clock() - begin)
    return best


def interval(ratios):
    """The widest-spaced order statistics whose coverage of the median is at least 95 %."""
    ordered = sorted(ratios)
    count = len(ordered)
    rank = 0
    while 2 * sum(math.comb(count, i) for i in range(rank + 1)) / 2**count <= 0.05 and rank < count // 2:
        rank += 1
    return ordered[max(rank - 1, 0)], ordered[-max(rank, 1)]


def compare(engine, models, batch, seq, fixed, options):
    runs = {}
    for name, path in models.items():
        try:
            runs[name] = ENGINES[engine](path, batch, seq, fixed, options.threads)
        except Exception as error:  # the tool's operators are not for every engine
            print(f"    {name}: {engine} cannot take it: {str(error).strip().splitlines()[0][:100]}")
    clock = time.process_time if options.cpu_time else time.perf_counter
    times = {name: [] for name in runs}
    for _ in range(options.rounds):
        for name in random.sample(list(runs), len(runs)):
            times[name].append(quickest(runs[name], options.samples, clock))
    print(f"{engine:12} {'fixed' if fixed else 'dynamic':8} {batch}x{seq:<4} zoo {1e3 * statistics.median(times['zoo']):8.2f} ms")
    for name in list(runs)[1:]:
        ratios = [ours / theirs for ours, theirs in zip(times["zoo"], times[name])]
        low, high = interval(ratios)
        ratio = statistics.median(ratios)
        word = "ok" if ratio <= BAR else "above the bar" if low > BAR else "undecided"
        print(f"    zoo / {name:24} {ratio:.3f} [{low:.3f}, {high:.3f}]  {word}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("zoo")
    parser.add_argument("exports", type=pathlib.Path)
    parser.add_argument("--engines", default="onnxruntime,openvino")
    parser.add_argument("--shapes", default="1x8,1x64,8x64")
    parser.add_argument("--modes", default="fixed,dynamic")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cpu-time", action="store_true", help="compare CPU time: for a machine with busy neighbours")
    options = parser.parse_args()
    models = {"zoo": options.zoo}
    for path in sorted(options.exports.glob("*.onnx")):
        models[path.stem] = str(path)
    for engine in options.engines.split(","):
        for mode in options.modes.split(","):
            for shape in options.shapes.split(","):
                batch, seq = map(int, shape.split("x"))
                compare(engine, models, batch, seq, mode == "fixed", options)


if __name__ == "__main__":
    main()
