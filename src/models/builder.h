// SPDX-License-Identifier: Apache-2.0
// Writes a graph node by node, in one of its forms: composites stay whole or are spelt out in primitives.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/types.h"
#include "models/weights.h"

namespace touchstone {

/// What a model builder is told to emit.
enum class Form {
  kPrimitive,  // Gelu and attention in primitives, LayerNormalization whole (opset 17)
  kFused,      // Gelu (opset 20) and touchstone's ScaledDotProductAttention whole as well
};

/// A graph whose weights have names and shapes but no place yet.
struct ModelDefinition {
  Graph graph;
  std::vector<WeightSpec> weights;
  /// Integer inputs whose range no table of the graph tells: drawn from 0 up to but not including this.
  std::map<std::string, std::int64_t> drawn_below;
};

class GraphBuilder {
 public:
  GraphBuilder(std::string name, Form form);

  Form form() const { return form_; }
  void input(const std::string& name, DataType type, const std::vector<std::string>& dimensions);
  void draws_below(const std::string& input, std::int64_t limit);
  void output(const std::string& name, DataType type, const std::vector<std::string>& dimensions);

  /// Declares a weight; returns its name.
  std::string weight(const std::string& name, std::vector<std::int64_t> shape, float mean, float deviation);
  std::string weight(WeightSpec spec);
  std::string constant(const std::string& name, const std::vector<std::int64_t>& values);
  std::string constant_of_shape(const std::string& name, std::vector<std::int64_t> shape,
                                const std::vector<std::int64_t>& values);
  std::string scalar_int(const std::string& name, std::int64_t value);
  std::string scalar(const std::string& name, float value);
  std::string table(const std::string& name, std::vector<std::int64_t> shape,
                    const std::vector<float>& values);

  /// Adds a node with one output; its value is named `name` (so the node is).
  std::string node(const std::string& op_type, const std::string& name, std::vector<std::string> inputs,
                   std::map<std::string, Attribute> attributes = {}, const std::string& domain = "");
  /// Whether a node has made this value already.
  bool made(const std::string& value) const;
  /// Adds a node with several outputs; an empty name leaves one out.
  void node_with_outputs(const std::string& op_type, const std::string& name, std::vector<std::string> inputs,
                         std::vector<std::string> outputs, std::map<std::string, Attribute> attributes = {});
  /// Gives the last node's output another name.
  void rename_last_output(const std::string& to);

  /// Says the shape of a float value that shape inference cannot find.
  void shape_is(const std::string& value, const std::vector<std::string>& dimensions);

  /// x·W + b with W of [in, out], which checkpoints keep as [out, in] (PyTorch's Linear).
  std::string linear(const std::string& scope, const std::string& x, std::int64_t in, std::int64_t out,
                     float deviation, float bias_deviation);
  /// The same without b.
  std::string linear_without_bias(const std::string& scope, const std::string& x, std::int64_t in,
                                  std::int64_t out, float deviation);
  /// x·W + b with W kept as [in, out] (GPT-2's Conv1D).
  std::string projection(const std::string& scope, const std::string& x, std::int64_t in, std::int64_t out,
                         float deviation, float bias_deviation);
  std::string layer_norm(const std::string& scope, const std::string& x, std::int64_t width, float epsilon);
  /// x/2 · (1 + erf(x/√2)).
  std::string gelu(const std::string& scope, const std::string& x);
  /// x/2 · (1 + tanh(√(2/π)·(x + 0.044715·x³))): GPT's approximation.
  std::string gelu_tanh(const std::string& scope, const std::string& x);
  /// x·σ(x).
  std::string silu(const std::string& scope, const std::string& x);
  /// x ÷ √(mean of x² + epsilon) · gain over the last dimension.
  std::string rms_norm(const std::string& scope, const std::string& x, std::int64_t width, float epsilon);
  /// A square convolution with the padding that keeps odd kernels' outputs at extent ÷ stride.
  struct Convolution {
    std::int64_t in, out, kernel;
    std::int64_t stride = 1;
    bool bias = false;
    bool by_fan_in =
        false;  // how its weights start: He's variance by fan in (DenseNet) or by fan out (ResNet)
  };
  /// x·W (+ b) over [batch, channels, height, width]; weights as torchvision starts them.
  std::string convolution(const std::string& scope, const std::string& x, const Convolution& shape);
  /// (x - running mean)/√(running variance + 1e-5)·gain + bias; gains are spread by 0.02 around `gain`.
  std::string batch_norm(const std::string& scope, const std::string& x, std::int64_t channels,
                         float gain = 1);
  std::string relu(const std::string& scope, const std::string& x);
  /// softmax(q·kᵀ·scale + mask)·v on [batch, heads, seq, head size]; `mask` is added to the scores; none
  /// where it is empty.
  std::string attention(const std::string& scope, const std::string& q, const std::string& k_transposed,
                        const std::string& v, const std::string& mask, std::int64_t head_size);

  ModelDefinition finish() &&;

 private:
  Form form_;
  ModelDefinition model_;
};

}  // namespace touchstone
