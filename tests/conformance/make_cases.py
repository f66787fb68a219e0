#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the operator cases in cases/*.json.

Two independent sources of expected values: ONNX's own node tests (numpy code beside the operators' specification),
and for older operator sets and for what BERT needs, models written below and run by ONNX's reference evaluator.

    python3 -m venv v && v/bin/pip install onnx==1.23.2 numpy
    v/bin/python tests/conformance/make_cases.py tests/conformance/cases
"""
import collections
import json
import math
import os
import sys
import warnings

warnings.simplefilter("ignore")
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.backend.test.case.node import collect_testcases  # noqa: E402

from older_cases import older_cases  # noqa: E402

TYPES = {
    TensorProto.FLOAT: "float32", TensorProto.DOUBLE: "float64", TensorProto.FLOAT16: "float16",
    TensorProto.INT8: "int8", TensorProto.INT16: "int16", TensorProto.INT32: "int32", TensorProto.INT64: "int64",
    TensorProto.UINT8: "uint8", TensorProto.UINT16: "uint16", TensorProto.UINT32: "uint32",
    TensorProto.UINT64: "uint64", TensorProto.BOOL: "bool",
}
# Operators that draw random numbers, or are about training, strings, images and sequences.
# Expected values that the specification gives with four digits only.
ROUNDED = {"test_averagepool_2d_ceil_last_window_starts_on_pad", "test_roialign_aligned_false", "test_roialign_aligned_true"}
LEFT_OUT = {"Bernoulli", "Adagrad", "Adam", "Momentum", "Gradient", "ImageDecoder", "RegexFullMatch", "StringConcat",
            "StringSplit", "StringNormalizer", "TfIdfVectorizer", "LabelEncoder", "TreeEnsemble"}
SHAPE_BY_INPUT = {"Unsqueeze", "Squeeze", "Reshape", "Expand", "Slice", "Tile", "Pad", "Split", "TopK", "CumSum", "CumProd",
                  "CenterCropPad", "Resize", "STFT", "DFT"} | {
                      "Reduce" + how for how in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp",
                                                 "SumSquare")}
WEIGHTED = {"Conv", "ConvTranspose", "BatchNormalization", "LSTM", "GRU", "RNN"}
NEWEST = 24         # cases of newer operator sets are left out: no engine reads them yet
LATEST = 22         # newest operator set that all engines read; cases are moved back to it where they allow it
MOST_ELEMENTS = 600   # of a case, inputs and outputs
MOST_CASES = 7      # of an operator


def number(value):
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, np.integer):
        return int(value)
    value = float(value)
    if math.isfinite(value):
        return int(value) if value == int(value) and abs(value) < 1e15 else value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def decimal(array):
    """Shortest decimals that give the same float32 (or float64)."""
    if array.dtype in (np.float32, np.float16):
        return [number(v) if not np.isfinite(v) or v == np.rint(v) else float(str(v)) for v in array.ravel()]
    return [number(v) for v in array.ravel()]


def tensor(name, array):
    kind = TYPES[helper.np_dtype_to_tensor_dtype(array.dtype)]
    return {"name": name, "type": kind, "shape": list(array.shape), "data": decimal(array)}


def constant(proto):
    array = numpy_helper.to_array(proto)
    return {"type": TYPES[proto.data_type], "shape": list(array.shape), "data": array.tobytes().hex()}


def attribute(proto):
    value = helper.get_attribute_value(proto)
    kinds = onnx.AttributeProto
    if proto.type == kinds.INT:
        return {"i": value}
    if proto.type == kinds.FLOAT:
        return {"f": number(value)}
    if proto.type == kinds.STRING:
        return {"s": value.hex()}
    if proto.type == kinds.INTS:
        return {"ints": list(value)}
    if proto.type == kinds.FLOATS:
        return {"floats": [number(v) for v in value]}
    if proto.type == kinds.STRINGS:
        return {"strings": [v.hex() for v in value]}
    if proto.type == kinds.TENSOR:
        return {"tensor": constant(value)}
    if proto.type == kinds.GRAPH:
        return {"graph": graph(value, {})}
    raise ValueError("attribute kind")


def value_info(proto):
    tensor_type = proto.type.tensor_type
    info = {"name": proto.name, "type": TYPES[tensor_type.elem_type]}
    if tensor_type.HasField("shape"):
        info["shape"] = [d.dim_value if d.HasField("dim_value") else d.dim_param or "?" for d in tensor_type.shape.dim]
    return info


def graph(proto, opsets):
    nodes = [{"name": n.name or f"{n.op_type}_{i}", "op": n.op_type, "domain": n.domain, "inputs": list(n.input),
              "outputs": list(n.output), "attributes": {a.name: attribute(a) for a in n.attribute}}
             for i, n in enumerate(proto.node)]
    return {"format": 1, "name": "case", "opsets": opsets,
            "inputs": [value_info(v) for v in proto.input], "outputs": [value_info(v) for v in proto.output],
            "nodes": nodes, "initializers": {t.name: constant(t) for t in proto.initializer}, "values": {}}


def with_constants(model, inputs):
    """Models have axes, shapes and weights as constants; some engines read them in no other way."""
    operator = model.graph.node[0].op_type
    constants = {v.name: a for i, (v, a) in enumerate(zip(model.graph.input, inputs)) if i > 0 and (
        operator in WEIGHTED or operator in SHAPE_BY_INPUT and a.dtype == np.int64 and a.ndim <= 1)}
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    del changed.graph.input[:]
    changed.graph.input.extend(v for v in model.graph.input if v.name not in constants)
    changed.graph.initializer.extend(numpy_helper.from_array(a, k) for k, a in constants.items())
    return changed, [a for v, a in zip(model.graph.input, inputs) if v.name not in constants]


def moved_back(model):
    version = next(o.version for o in model.opset_import if o.domain == "")
    if version <= LATEST:
        return model
    back = onnx.ModelProto()
    back.CopyFrom(model)
    back.opset_import[0].version = LATEST
    back.ir_version = 10
    try:
        onnx.checker.check_model(back, full_check=True)
    except Exception:
        return model
    return back


def case(name, model, inputs, outputs):
    opsets = {o.domain: o.version for o in model.opset_import}
    names = [v.name for v in model.graph.input], [v.name for v in model.graph.output]
    return {"name": name, "graph": graph(model.graph, opsets), "inputs": [tensor(*p) for p in zip(names[0], inputs)],
            "outputs": [tensor(*p) for p in zip(names[1], outputs)]}


def onnx_cases():
    for test in collect_testcases(None):
        if test.model is None or "_expanded" in test.name or test.name in ROUNDED:
            continue
        if [o.domain for o in test.model.opset_import] != [""]:
            continue
        operator = test.model.graph.node[0].op_type
        inputs, outputs = test.data_sets[0]
        arrays = list(inputs) + list(outputs)
        if operator in LEFT_OUT or not all(isinstance(a, np.ndarray) for a in arrays):
            continue
        if sum(a.size for a in arrays) > MOST_ELEMENTS or len(inputs) != len(test.model.graph.input):
            continue
        try:
            model, given = with_constants(moved_back(test.model), inputs)
            if model.opset_import[0].version <= NEWEST:
                yield operator, case(test.name.removeprefix("test_"), model, given, outputs)
        except (KeyError, ValueError):
            continue  # an element type or attribute that no engine here shares


def main(folder):
    by_operator = collections.defaultdict(list)
    for operator, made in onnx_cases():
        by_operator[operator].append(made)
    for operator, made in by_operator.items():
        # Half precision last: it is no operator's most telling case.
        made.sort(key=lambda c: any(t["type"] == "float16" for t in c["inputs"] + c["outputs"]))
        del made[MOST_CASES:]
    for operator, name, model, inputs, outputs in older_cases():
        by_operator[operator].append(case(name, model, inputs, outputs))
    for operator, made in sorted(by_operator.items()):
        with open(os.path.join(folder, operator + ".json"), "w") as file:
            file.write("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in made) + "\n]\n")
    print(sum(len(m) for m in by_operator.values()), "cases of", len(by_operator), "operators")


if __name__ == "__main__":
    main(sys.argv[1])
