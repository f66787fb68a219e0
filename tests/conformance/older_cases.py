# SPDX-License-Identifier: Apache-2.0
"""Cases of older operator sets, and of the shapes and masks that BERT needs; run by ONNX's reference evaluator."""
import numpy as np
from onnx import TensorProto, checker, helper
from onnx.reference import ReferenceEvaluator

RANDOM = np.random.default_rng(20240229)


def floats(*shape):
    return RANDOM.normal(0, 1, shape).astype(np.float32)


def integers(*values):
    return np.array(values, np.int64)


def model_of(nodes, inputs, outputs, opset, constants):
    """`outputs` are triples of name, type and shape; a shape of None is left open."""
    value = lambda name, array: helper.make_tensor_value_info(  # noqa: E731
        name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
    weights = [helper.make_tensor(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape, v.tobytes(), raw=True)
               for k, v in constants.items()]
    graph = helper.make_graph(nodes, "case", [value(k, v) for k, v in inputs.items()],
                              [helper.make_tensor_value_info(*output) for output in outputs], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def run(nodes, inputs, outputs, opset, constants=None):
    """A model and its outputs, which are pairs of name and type; their shapes in the model are those the evaluator found."""
    constants = constants or {}
    open_model = model_of(nodes, inputs, [(*output, None) for output in outputs], opset, constants)
    found = [np.asarray(array) for array in ReferenceEvaluator(open_model).run(None, inputs)]
    model = model_of(nodes, inputs, [(*output, array.shape) for output, array in zip(outputs, found)], opset, constants)
    checker.check_model(model)
    return model, list(inputs.values()), found


def one(operator, opset, inputs, attributes=None, constants=None, kind=TensorProto.FLOAT, outputs=1):
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(operator, list(inputs) + list(constants or {}), names, **(attributes or {}))
    return run([node], inputs, [(n, kind) for n in names], opset, constants)


def older_cases():
    x = floats(2, 3, 4)
    yield "Squeeze", "squeeze_attribute_opset_11", *one("Squeeze", 11, {"x": floats(1, 3, 1, 2)}, {"axes": [0, 2]})
    yield "Unsqueeze", "unsqueeze_attribute_opset_11", *one("Unsqueeze", 11, {"x": x}, {"axes": [0, 3]})
    yield "Slice", "slice_attribute_opset_9", *one("Slice", 9, {"x": x}, {"axes": [1, 2], "starts": [0, -3], "ends": [2, 9]})
    yield "Split", "split_attribute_opset_11", *one("Split", 11, {"x": floats(2, 6)}, {"axis": 1, "split": [2, 4]}, outputs=2)
    yield "Pad", "pad_attribute_opset_10", *one("Pad", 10, {"x": floats(2, 3)}, {"pads": [0, 1, 2, 0], "value": 1.5})
    yield "Clip", "clip_attribute_opset_10", *one("Clip", 10, {"x": x}, {"min": -0.5, "max": 0.25})
    yield "ReduceSum", "reduce_sum_attribute_opset_11", *one("ReduceSum", 11, {"x": x}, {"axes": [1], "keepdims": 0})
    yield "ReduceMean", "reduce_mean_attribute_opset_13", *one("ReduceMean", 13, {"x": x}, {"axes": [-1], "keepdims": 1})
    yield "Gemm", "gemm_transposed_opset_9", *one("Gemm", 9, {"a": floats(3, 2), "b": floats(4, 3), "c": floats(4)},
                                                  {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0})
    yield "Dropout", "dropout_opset_10", *one("Dropout", 10, {"x": x}, {"ratio": 0.3})
    yield "Softmax", "softmax_flattens_opset_11", *flattening_softmax(x)
    yield "Div", "div_integers_truncate_opset_13", *one(
        "Div", 13, {"a": np.array([7, -7, 7, -7], np.int32), "b": np.array([2, 2, -2, -2], np.int32)}, kind=TensorProto.INT32)
    yield from bert_cases()
    yield from control_cases()


def flattening_softmax(x):
    """Before operator set 13 Softmax sees its input as a matrix; the evaluator has only the newer meaning."""
    node = helper.make_node("Softmax", ["x"], ["y0"], axis=1)
    model = model_of([node], {"x": x}, [("y0", TensorProto.FLOAT, x.shape)], 11, {})
    rows = np.exp(x.reshape(2, 12).astype(np.float64))
    return model, [x], [(rows / rows.sum(1, keepdims=True)).reshape(x.shape).astype(np.float32)]


def bert_cases():
    node = helper.make_node
    table = floats(11, 8)
    yield "Gather", "embedding_by_initializer", *run(
        [node("Gather", ["w", "ids"], ["y"], axis=0)], {"ids": integers([1, 10, 0], [3, 3, 7])},
        [("y", TensorProto.FLOAT)], 17, {"w": table})
    gain, bias = floats(8), floats(8)
    yield "LayerNormalization", "layer_normalization_small_epsilon", *run(
        [node("LayerNormalization", ["x", "g", "b"], ["y"], axis=-1, epsilon=1e-12)], {"x": floats(2, 3, 8) * 0.05},
        [("y", TensorProto.FLOAT)], 17, {"g": gain, "b": bias})
    gelu = [node("Div", ["x", "root"], ["d"]), node("Erf", ["d"], ["e"]), node("Add", ["e", "one"], ["a"]),
            node("Mul", ["x", "a"], ["m"]), node("Mul", ["m", "half"], ["y"])]
    yield "Erf", "gelu_in_primitives", *run(gelu, {"x": floats(4, 6)}, [("y", TensorProto.FLOAT)], 17,
                                            {"root": np.float32(2 ** 0.5).reshape(()), "one": np.float32(1).reshape(()),
                                             "half": np.float32(0.5).reshape(())})
    mask = [node("Unsqueeze", ["mask", "axes"], ["u"]), node("Cast", ["u"], ["f"], to=TensorProto.FLOAT),
            node("Sub", ["one", "f"], ["n"]), node("Mul", ["n", "least"], ["added"])]
    attention = [node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]), node("MatMul", ["q", "kt"], ["s"]),
                 node("Div", ["s", "scale"], ["scaled"]), node("Add", ["scaled", "added"], ["masked"]),
                 node("Softmax", ["masked"], ["p"], axis=-1), node("MatMul", ["p", "v"], ["y"])]
    yield "MatMul", "attention_in_primitives_with_padding", *run(
        mask + attention,
        {"q": floats(2, 2, 5, 4), "k": floats(2, 2, 5, 4), "v": floats(2, 2, 5, 4), "mask": integers([1] * 5, [1, 1, 1, 0, 0])},
        [("y", TensorProto.FLOAT)], 17,
        {"axes": integers(1, 2), "one": np.float32(1).reshape(()), "scale": np.float32(2).reshape(()),
         "least": np.float32(np.finfo(np.float32).min).reshape(())})
    heads = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "zero"], ["batch"], axis=0),
             node("Unsqueeze", ["batch", "zeros"], ["b1"]), node("Concat", ["b1", "rest"], ["to"], axis=0),
             node("Reshape", ["x", "to"], ["r"]), node("Transpose", ["r"], ["y"], perm=[0, 2, 1, 3])]
    yield "Reshape", "heads_by_shape_arithmetic", *run(
        heads, {"x": floats(2, 3, 8)}, [("y", TensorProto.FLOAT)], 17,
        {"zero": np.array(0, np.int64), "zeros": integers(0), "rest": integers(-1, 2, 4)})
    yield "MatMul", "matmul_large_enough_for_blocks", *run(
        [node("MatMul", ["x", "w"], ["y"])], {"x": floats(7, 33)}, [("y", TensorProto.FLOAT)], 17, {"w": floats(33, 29)})


def control_cases():
    node, info = helper.make_node, helper.make_tensor_value_info
    x = floats(2, 3)
    again, goes_on = info("again", TensorProto.BOOL, []), info("goes_on", TensorProto.BOOL, [])
    count = info("i", TensorProto.INT64, [])
    floats_of = lambda name, *shape: (name, TensorProto.FLOAT, shape)  # noqa: E731
    value = lambda name, *shape: info(*floats_of(name, *shape))  # noqa: E731
    same = node("Identity", ["again"], ["goes_on"])
    float_y = [("y", TensorProto.FLOAT)]

    then_branch = helper.make_graph([node("Relu", ["x"], ["r"]), node("Add", ["r", "w"], ["t"])], "then", [], [value("t", 2, 3)])
    else_branch = helper.make_graph([node("Neg", ["x"], ["e"])], "else", [], [value("e", 2, 3)])
    for taken in (True, False):
        yield "If", f"if_{str(taken).lower()}_reads_outer_values", *run(
            [node("If", ["c"], ["y"], then_branch=then_branch, else_branch=else_branch)], {"c": np.array(taken), "x": x},
            float_y, 17, {"w": floats(3)})

    # v doubles and takes an outer value with each iteration; each v is also stacked.
    body = helper.make_graph([same, node("Add", ["v", "v"], ["d"]), node("Add", ["d", "x"], ["n"]), node("Identity", ["n"], ["s"])],
                             "body", [count, again, value("v", 2, 3)], [goes_on, value("n", 2, 3), value("s", 2, 3)])
    v0 = floats(2, 3)
    model = model_of([node("Loop", ["most", "", "v0"], ["y", "all"], body=body)], {"x": x, "v0": v0},
                     [floats_of("y", 2, 3), floats_of("all", 3, 2, 3)], 17, {"most": np.array(3, np.int64)})
    steps = [v0 * 2 + x, v0 * 4 + x * 3, v0 * 8 + x * 7]  # the evaluator joins rows where Loop stacks
    yield "Loop", "loop_carries_and_stacks", model, [x, v0], [steps[-1], np.stack(steps)]
    # Ends by its condition: while the sum is below a bound.
    until_bound = helper.make_graph(
        [node("Add", ["v", "step"], ["n"]), node("Less", ["n", "bound"], ["goes_on"])], "body", [count, again, value("v")],
        [goes_on, value("n")])
    scalars = {"step": np.float32(0.75).reshape(()), "bound": np.float32(3).reshape(())}
    yield "Loop", "loop_ends_by_condition", *run(
        [node("Loop", ["", "c", "v0"], ["y"], body=until_bound)], {"c": np.array(True), "v0": np.float32(0).reshape(())}, float_y, 17, scalars)
    yield "Loop", "loop_without_an_iteration", *run(
        [node("Loop", ["", "c", "v0"], ["y"], body=until_bound)], {"c": np.array(False), "v0": np.float32(2).reshape(())}, float_y, 17, scalars)
    # A loop inside a branch, whose body reads values of the graph two levels up.
    inner = helper.make_graph([node("Loop", ["most", "", "w"], ["l"], body=helper.make_graph(
        [same, node("Mul", ["v", "x"], ["n"])], "body", [count, again, value("v", 2, 3)], [goes_on, value("n", 2, 3)]))],
        "then", [], [value("l", 2, 3)])
    w = floats(2, 3)
    model = model_of([node("If", ["c"], ["y"], then_branch=inner, else_branch=else_branch)], {"c": np.array(True), "x": x},
                     [floats_of("y", 2, 3)], 17, {"w": w, "most": np.array(2, np.int64)})
    yield "Loop", "loop_inside_a_branch", model, [np.array(True), x], [w * x * x]

    running = lambda rows: helper.make_graph(  # noqa: E731
        [node("Add", ["sum", "row"], ["new"]), node("Identity", ["new"], ["seen"])], "body", [value("sum", rows), value("row", rows)],
        [value("new", rows), value("seen", rows)])
    yield "Scan", "scan_running_sum", *run(
        [node("Scan", ["s0", "x"], ["last", "y"], num_scan_inputs=1, body=running(3))], {"s0": floats(3), "x": floats(4, 3)},
        [("last", TensorProto.FLOAT), ("y", TensorProto.FLOAT)], 17)
    # The evaluator has no axes and directions; the sums are written out here.
    scan = node("Scan", ["s0", "x"], ["last", "y"], num_scan_inputs=1, body=running(2), scan_input_axes=[1],
                scan_input_directions=[1], scan_output_axes=[1], scan_output_directions=[1])
    s0, table = floats(2), floats(2, 4)
    model = model_of([scan], {"s0": s0, "x": table}, [floats_of("last", 2), floats_of("y", 2, 4)], 17, {})
    sums = s0[:, None] + np.cumsum(table[:, ::-1].astype(np.float64), 1)
    yield "Scan", "scan_axes_and_directions", model, [s0, table], [sums[:, -1].astype(np.float32), sums[:, ::-1].astype(np.float32)]
