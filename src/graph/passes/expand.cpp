// SPDX-License-Identifier: Apache-2.0
#include "graph/passes/expand.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "graph/bundle.h"
#include "graph/passes/pattern.h"

namespace touchstone {
namespace {

// Writes the primitives of one composite; its values are named after the composite's output.
class Writer {
 public:
  Writer(const Graph& graph, const GraphIndex& index, const Node& node)
      : index_(index), node_(node), opset_(graph.opset()) {}

  std::string add(const char* op_type, std::vector<std::string> inputs,
                  std::map<std::string, Attribute> attributes = {}) {
    Node node;
    node.op_type = op_type;
    node.name = fmt_name(op_type);
    node.inputs = std::move(inputs);
    node.outputs = {node.name};
    node.attributes = std::move(attributes);
    nodes_.push_back(std::move(node));
    return nodes_.back().outputs[0];
  }

  // A scalar in the type of the composite's first input.
  std::string scalar(double value) {
    const std::string name = fmt_name("constant");
    if (index_.type(node_.inputs[0]) == DataType::kDouble) {
      constants_[name] = make_constant<double>(DataType::kDouble, {}, std::span(&value, 1));
      return name;
    }
    const auto single = static_cast<float>(value);
    constants_[name] = make_constant<float>(DataType::kFloat, {}, std::span(&single, 1));
    return name;
  }

  std::string mean(const std::string& value, const std::vector<std::int64_t>& axes) {
    if (opset_ < 18) {  // axes became an input
      return add("ReduceMean", {value}, {{"axes", {axes}}, {"keepdims", {std::int64_t{1}}}});
    }
    const std::string name = fmt_name("axes");
    constants_[name] = make_constant<std::int64_t>(DataType::kInt64, {static_cast<std::int64_t>(axes.size())},
                                                   std::span(axes));
    return add("ReduceMean", {value, name}, {{"keepdims", {std::int64_t{1}}}});
  }

  std::string softmax(const std::string& value, std::int64_t rank) {
    return add("Softmax", {value}, {{"axis", {opset_ < 13 ? rank - 1 : std::int64_t{-1}}}});
  }

  bool layer_normalization();
  bool gelu();
  bool composite_attention();
  bool onnx_attention();

  // The last primitive makes what the composite made.
  void commit(Graph& graph) && {
    nodes_.back().outputs = {node_.outputs[0]};
    graph.initializers.merge(constants_);
    std::move(nodes_.begin(), nodes_.end(), std::back_inserter(graph.nodes));
  }

 private:
  std::string fmt_name(const char* what) {
    return node_.outputs[0] + "/expanded/" + what + "_" + std::to_string(count_++);
  }
  void attend(const std::string& q, const std::string& k_transposed, const std::string& v,
              const std::string& mask, double scale, std::int64_t rank);

  const GraphIndex& index_;
  const Node& node_;
  int opset_;
  int count_ = 0;
  std::vector<Node> nodes_;
  std::map<std::string, Constant> constants_;
};

bool has(const Node& node, std::size_t input) {
  return input < node.inputs.size() && !node.inputs[input].empty();
}

bool is_full_float(DataType type) {
  return type == DataType::kFloat || type == DataType::kDouble;
}

bool Writer::layer_normalization() {
  const std::int64_t axis = node_.int_attribute("axis", -1);
  const auto rank = index_.rank(node_.inputs[0]);
  // 16-bit floats are normalised in float32 by the operator's definition; they stay whole.
  if (node_.outputs.size() > 1 || (axis >= 0 && !rank) || !is_full_float(index_.type(node_.inputs[0]))) {
    return false;
  }
  std::vector<std::int64_t> axes;
  for (std::int64_t i = axis < 0 ? axis : axis - *rank; i < 0; ++i) {
    axes.push_back(opset_ < 11 && rank ? i + *rank : i);
  }
  const std::string& x = node_.inputs[0];
  const std::string centred = add("Sub", {x, mean(x, axes)});
  const std::string variance = mean(add("Mul", {centred, centred}), axes);
  const std::string epsilon = scalar(node_.float_attribute("epsilon", 1e-5F));
  const std::string deviation = add("Sqrt", {add("Add", {variance, epsilon})});
  const std::string scaled = add("Mul", {add("Div", {centred, deviation}), node_.inputs[1]});
  if (has(node_, 2)) {
    add("Add", {scaled, node_.inputs[2]});
  }
  return true;
}

bool Writer::gelu() {
  const std::string& x = node_.inputs[0];
  if (!is_full_float(index_.type(x))) {
    return false;
  }
  std::string bent;
  if (node_.string_attribute("approximate", "none") == "tanh") {
    const std::string cube = add("Mul", {add("Mul", {x, x}), x});
    const std::string sum = add("Add", {x, add("Mul", {cube, scalar(0.044715)})});
    bent = add("Tanh", {add("Mul", {sum, scalar(std::sqrt(2 / M_PI))})});
  } else {
    bent = add("Erf", {add("Mul", {x, scalar(std::sqrt(0.5))})});
  }
  add("Mul", {add("Mul", {x, scalar(0.5)}), add("Add", {bent, scalar(1)})});
  return true;
}

void Writer::attend(const std::string& q, const std::string& k_transposed, const std::string& v,
                    const std::string& mask, double scale, std::int64_t rank) {
  std::string scores = add("Mul", {add("MatMul", {q, k_transposed}), scalar(scale)});
  if (!mask.empty()) {
    scores = add("Add", {scores, mask});
  }
  add("MatMul", {softmax(scores, rank), v});
}

bool Writer::composite_attention() {
  const auto rank = index_.rank(node_.inputs[0]);
  if ((opset_ < 13 && !rank) || !is_full_float(index_.type(node_.inputs[0]))) {
    return false;
  }
  attend(node_.inputs[0], node_.inputs[1], node_.inputs[2], has(node_, 3) ? node_.inputs[3] : "",
         node_.float_attribute("scale", 1), rank.value_or(0));
  return true;
}

bool Writer::onnx_attention() {
  const auto q = index_.shape(node_.inputs[0]);
  const auto k = index_.shape(node_.inputs[1]);
  const bool plain = node_.outputs.size() == 1 && !has(node_, 4) && !has(node_, 5) && !has(node_, 6) &&
                     node_.int_attribute("is_causal", 0) == 0 && node_.float_attribute("softcap", 0) == 0;
  const bool known = q && k && q->size() == 4 && k->size() == 4 && (*q)[1].value && q->back().value &&
                     (*q)[1].value == (*k)[1].value;
  const bool maskable = !has(node_, 3) || index_.type(node_.inputs[3]) == index_.type(node_.inputs[0]) ||
                        index_.type(node_.inputs[3]) == DataType::kBool;
  if (!plain || !known || !maskable || !is_full_float(index_.type(node_.inputs[0]))) {
    return false;
  }
  const double size = static_cast<double>(*q->back().value);
  const double given = node_.float_attribute("scale", 0);
  std::string mask = has(node_, 3) ? node_.inputs[3] : "";
  if (!mask.empty() && index_.type(mask) == DataType::kBool) {
    mask = add("Where", {mask, scalar(0), scalar(-std::numeric_limits<double>::infinity())});
  }
  const std::vector<std::int64_t> swapped = {0, 1, 3, 2};
  attend(node_.inputs[0], add("Transpose", {node_.inputs[1]}, {{"perm", {swapped}}}), node_.inputs[2], mask,
         given == 0 ? 1 / std::sqrt(size) : given, 4);
  return true;
}

bool write(Writer& writer, const Node& node) {
  if (node.domain == "touchstone") {
    return node.op_type == "ScaledDotProductAttention" && writer.composite_attention();
  }
  if (!node.domain.empty()) {
    return false;
  }
  return node.op_type == "LayerNormalization" ? writer.layer_normalization()
         : node.op_type == "Gelu"             ? writer.gelu()
         : node.op_type == "Attention"        ? writer.onnx_attention()
                                              : false;
}

}  // namespace

Graph expand(Graph graph) {
  const Graph before = graph;
  const GraphIndex index(before);
  graph.nodes.clear();
  for (const Node& node : before.nodes) {
    Writer writer(before, index, node);
    if (write(writer, node)) {
      std::move(writer).commit(graph);
    } else {
      graph.nodes.push_back(node);
    }
  }
  const bool composite = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                     [](const Node& node) { return node.domain == "touchstone"; });
  if (!composite) {
    graph.opsets.erase("touchstone");
  }
  return graph;
}

}  // namespace touchstone
