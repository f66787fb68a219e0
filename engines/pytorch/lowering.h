// SPDX-License-Identifier: Apache-2.0
// From ONNX operators to the calls that PyTorch's users write. Each operator is written once: `eager` is a
// call of ATen's; `script` its text in TorchScript, where the compiler can do more with text than with an
// opaque call.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/types.h"

namespace touchstone::pytorch {

using Tensors = std::vector<at::Tensor>;

/// Inputs in the node's order; an omitted optional input is an undefined tensor.
using Eager = std::function<Tensors(const Tensors& inputs)>;
/// An expression of the inputs' names, for a node with one output.
using Script = std::function<std::string(const std::vector<std::string>& inputs)>;

struct Lowered {
  Eager eager;
  Script script;  // empty: TorchScript calls the eager function as an operator of its own
};

/// What a lowering sees of its node when the program is made.
struct NodeContext {
  const Node& node;
  int opset;
  /// The value of an input that is constant, or an undefined tensor.
  std::function<at::Tensor(std::size_t)> constant;

  bool has(std::size_t index) const { return index < node.inputs.size() && !node.inputs[index].empty(); }
  tl::unexpected<Error> unsupported(const std::string& what) const;
};

using Lowering = Result<Lowered> (*)(const NodeContext& context);
using LoweringTable = std::map<std::string, Lowering>;

const LoweringTable& elementwise_lowerings();
const LoweringTable& shape_lowerings();
const LoweringTable& index_lowerings();
const LoweringTable& matrix_lowerings();
const LoweringTable& reduce_lowerings();
const LoweringTable& convolution_lowerings();
const LoweringTable& recurrent_lowerings();

/// The lowering of a node, or null.
Lowering find_lowering(const Node& node);

/// ONNX's element types in PyTorch's. Errors: unsupported.
Result<at::ScalarType> scalar_type(DataType type);
DataType data_type(at::ScalarType type);

/// The integers in a (CPU) tensor.
std::vector<std::int64_t> integers(const at::Tensor& tensor);
/// The axes, pads, … of a node: input `index` where it is there, else the attribute.
std::vector<std::int64_t> integers_of(const NodeContext& context, const Tensors& inputs, std::size_t index,
                                      const std::string& attribute, std::vector<std::int64_t> fallback = {});

/// "f(a, b)" with the inputs' names.
Script call_text(std::string function);
/// "a op b".
Script infix_text(std::string symbol);

}  // namespace touchstone::pytorch
