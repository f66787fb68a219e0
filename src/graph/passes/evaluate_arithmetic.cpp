// SPDX-License-Identifier: Apache-2.0
// Elementwise operators, comparisons, casts and reductions of small tensors.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>

#include "graph/passes/small_tensor.h"

namespace touchstone {
namespace {

using Inputs = std::vector<const SmallTensor*>;
using Ints = std::function<std::int64_t(std::int64_t, std::int64_t)>;
using Floats = std::function<double(double, double)>;

// Arithmetic wraps, as the engines' does, where plain overflow would be undefined.
std::int64_t wrap(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

std::uint64_t unsign(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

struct Binary {
  Ints ints;
  Floats floats;
  bool compares = false;  // the result is boolean
};

const std::map<std::string, Binary>& binaries() {
  static const std::map<std::string, Binary> kBinaries = {
      {"Add", {[](auto a, auto b) { return wrap(unsign(a) + unsign(b)); }, std::plus<>()}},
      {"Sub", {[](auto a, auto b) { return wrap(unsign(a) - unsign(b)); }, std::minus<>()}},
      {"Mul", {[](auto a, auto b) { return wrap(unsign(a) * unsign(b)); }, std::multiplies<>()}},
      {"Div", {[](auto a, auto b) { return b == -1 ? wrap(0 - unsign(a)) : a / b; }, std::divides<>()}},
      {"Mod",
       {[](auto a, auto b) {
          return b == -1 ? 0 : ((a % b) != 0 && (a % b < 0) != (b < 0)) ? a % b + b : a % b;
        },
        nullptr}},
      {"Min", {[](auto a, auto b) { return std::min(a, b); }, [](auto a, auto b) { return std::min(a, b); }}},
      {"Max", {[](auto a, auto b) { return std::max(a, b); }, [](auto a, auto b) { return std::max(a, b); }}},
      {"Equal", {std::equal_to<>(), std::equal_to<>(), true}},
      {"Less", {std::less<>(), std::less<>(), true}},
      {"LessOrEqual", {std::less_equal<>(), std::less_equal<>(), true}},
      {"Greater", {std::greater<>(), std::greater<>(), true}},
      {"GreaterOrEqual", {std::greater_equal<>(), std::greater_equal<>(), true}},
      {"And", {[](auto a, auto b) { return a & b; }, nullptr, true}},
      {"Or", {[](auto a, auto b) { return a | b; }, nullptr, true}},
      {"Xor", {[](auto a, auto b) { return a ^ b; }, nullptr, true}},
  };
  return kBinaries;
}

// One operation's result in the tensor's own type.
double rounded(DataType type, double value) {
  return type == DataType::kFloat ? static_cast<double>(static_cast<float>(value)) : value;
}

std::int64_t wrapped(DataType type, std::int64_t value) {
  return type == DataType::kInt32  ? static_cast<std::int32_t>(value)
         : type == DataType::kBool ? value != 0
                                   : value;
}

std::optional<std::vector<std::int64_t>> broadcast(const std::vector<std::int64_t>& a,
                                                   const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> shape(std::max(a.size(), b.size()), 1);
  std::size_t count = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      return std::nullopt;
    }
    shape[shape.size() - 1 - i] = x == 1 ? y : x;
    count *= static_cast<std::size_t>(shape[shape.size() - 1 - i]);
    if (count > kLargestFolded) {
      return std::nullopt;
    }
  }
  return shape;
}

// Where the element of `tensor` lies that takes part in element `index` of the broadcast `shape`.
std::size_t source(const std::vector<std::int64_t>& tensor, const std::vector<std::int64_t>& shape,
                   std::size_t index) {
  std::size_t position = 0;
  std::size_t stride = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto extent = static_cast<std::size_t>(shape[shape.size() - 1 - i]);
    const std::size_t coordinate = index % extent;
    index /= extent;
    if (i < tensor.size()) {
      const auto own = static_cast<std::size_t>(tensor[tensor.size() - 1 - i]);
      position += (own == 1 ? 0 : coordinate) * stride;
      stride *= own;
    }
  }
  return position;
}

std::optional<SmallTensor> binary(const Node& node, const SmallTensor& a, const SmallTensor& b) {
  const Binary& operation = binaries().at(node.op_type);
  const auto shape = broadcast(a.shape, b.shape);
  const bool floats = a.is_float();
  if (a.type != b.type || !shape || (floats && !operation.floats) ||
      (node.op_type == "Mod" && node.int_attribute("fmod", 0) != 0)) {
    return std::nullopt;
  }
  const bool divides = node.op_type == "Div" || node.op_type == "Mod";
  if (divides && !floats && std::count(b.ints.begin(), b.ints.end(), 0) > 0) {
    return std::nullopt;
  }
  SmallTensor out{operation.compares ? DataType::kBool : a.type, *shape, {}, {}};
  const std::size_t count = element_count(*shape);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t x = source(a.shape, *shape, i);
    const std::size_t y = source(b.shape, *shape, i);
    if (!floats) {
      out.ints.push_back(wrapped(out.type, operation.ints(a.ints[x], b.ints[y])));
    } else if (operation.compares) {
      out.ints.push_back(operation.floats(a.floats[x], b.floats[y]) != 0);
    } else {
      out.floats.push_back(rounded(out.type, operation.floats(a.floats[x], b.floats[y])));
    }
  }
  return out;
}

std::optional<SmallTensor> unary(const Node& node, const SmallTensor& x) {
  static const std::map<std::string, Floats> kFloats = {
      {"Neg", [](double v, double) { return -v; }},
      {"Abs", [](double v, double) { return std::abs(v); }},
      {"Floor", [](double v, double) { return std::floor(v); }},
      {"Ceil", [](double v, double) { return std::ceil(v); }},
      {"Sqrt", [](double v, double) { return std::sqrt(v); }},
      {"Reciprocal", [](double v, double) { return 1.0 / v; }},
  };
  static const std::map<std::string, Ints> kInts = {
      {"Neg", [](std::int64_t v, std::int64_t) { return wrap(0 - unsign(v)); }},
      {"Abs", [](std::int64_t v, std::int64_t) { return v < 0 ? wrap(0 - unsign(v)) : v; }},
      {"Not", [](std::int64_t v, std::int64_t) { return std::int64_t{v == 0}; }},
  };
  SmallTensor out = x;
  if (x.is_float() && kFloats.contains(node.op_type)) {
    for (double& value : out.floats) {
      value = rounded(x.type, kFloats.at(node.op_type)(value, 0));
    }
    return out;
  }
  if (!x.is_float() && kInts.contains(node.op_type)) {
    for (std::int64_t& value : out.ints) {
      value = wrapped(x.type, kInts.at(node.op_type)(value, 0));
    }
    return out;
  }
  return std::nullopt;
}

std::optional<SmallTensor> cast(const Node& node, const SmallTensor& x) {
  SmallTensor out{static_cast<DataType>(node.int_attribute("to", 0)), x.shape, {}, {}};
  const bool known = out.is_float() || out.type == DataType::kInt64 || out.type == DataType::kInt32 ||
                     out.type == DataType::kBool;
  if (!known) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (out.is_float()) {
      out.floats.push_back(rounded(out.type, x.is_float() ? x.floats[i] : static_cast<double>(x.ints[i])));
      continue;
    }
    if (x.is_float() && out.type != DataType::kBool && !(std::abs(x.floats[i]) < 0x1.0p31)) {
      return std::nullopt;  // what becomes of it differs between engines
    }
    const std::int64_t whole = !x.is_float()                 ? x.ints[i]
                               : out.type == DataType::kBool ? std::int64_t{x.floats[i] != 0}
                                                             : static_cast<std::int64_t>(x.floats[i]);
    out.ints.push_back(wrapped(out.type, whole));
  }
  return out;
}

std::optional<SmallTensor> where(const SmallTensor& condition, const SmallTensor& a, const SmallTensor& b) {
  const auto inner = broadcast(a.shape, b.shape);
  const auto shape = inner ? broadcast(condition.shape, *inner) : std::nullopt;
  if (!shape || a.type != b.type || condition.type != DataType::kBool) {
    return std::nullopt;
  }
  SmallTensor out{a.type, *shape, {}, {}};
  const std::size_t count = element_count(*shape);
  for (std::size_t i = 0; i < count; ++i) {
    const SmallTensor& chosen = condition.ints[source(condition.shape, *shape, i)] != 0 ? a : b;
    const std::size_t at = source(chosen.shape, *shape, i);
    if (out.is_float()) {
      out.floats.push_back(chosen.floats[at]);
    } else {
      out.ints.push_back(chosen.ints[at]);
    }
  }
  return out;
}

// Over all axes only: that is what shape arithmetic does.
std::optional<SmallTensor> reduce(const Node& node, const Inputs& inputs) {
  const SmallTensor& x = *inputs[0];
  const bool all_axes = (inputs.size() < 2 || inputs[1] == nullptr) && !node.attributes.contains("axes");
  const bool flat = x.shape.size() == 1;
  if (x.is_float() || x.ints.empty() || (!all_axes && !flat) ||
      node.int_attribute("noop_with_empty_axes", 0) != 0) {
    return std::nullopt;
  }
  const std::string operation = node.op_type == "ReduceProd"  ? "Mul"
                                : node.op_type == "ReduceSum" ? "Add"
                                : node.op_type == "ReduceMin" ? "Min"
                                                              : "Max";
  std::int64_t value = x.ints.front();
  for (std::size_t i = 1; i < x.ints.size(); ++i) {
    value = wrapped(x.type, binaries().at(operation).ints(value, x.ints[i]));
  }
  const bool keep = node.int_attribute("keepdims", 1) != 0;
  return SmallTensor{x.type, std::vector<std::int64_t>(keep ? x.shape.size() : 0, 1), {value}, {}};
}

}  // namespace

std::optional<SmallTensor> evaluate_arithmetic(const Node& node, const Inputs& inputs) {
  const std::string& op = node.op_type;
  const auto has = [&](std::size_t count) {
    return inputs.size() == count && std::count(inputs.begin(), inputs.end(), nullptr) == 0;
  };
  if (binaries().contains(op) && has(2)) {
    return binary(node, *inputs[0], *inputs[1]);
  }
  if (op == "Where" && has(3)) {
    return where(*inputs[0], *inputs[1], *inputs[2]);
  }
  if ((op == "ReduceProd" || op == "ReduceSum" || op == "ReduceMin" || op == "ReduceMax") &&
      !inputs.empty() && inputs[0] != nullptr) {
    return reduce(node, inputs);
  }
  if (!has(1)) {
    return std::nullopt;
  }
  return op == "Cast" ? cast(node, *inputs[0]) : unary(node, *inputs[0]);
}

}  // namespace touchstone
