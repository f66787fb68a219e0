// SPDX-License-Identifier: Apache-2.0
#include "models/transformer.h"

#include <cmath>
#include <limits>

#include "models/decoder_phase.h"

namespace touchstone {
namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();

Attribute perm(std::vector<std::int64_t> axes) {
  return {std::move(axes)};
}

// `name`/Mul: position × frequency, float [positions, size / 2].
std::string angles_of(GraphBuilder& b, const std::string& name, const std::string& positions,
                      std::int64_t size, float theta) {
  std::vector<float> frequencies;
  for (std::int64_t i = 0; i < size; i += 2) {
    const double exponent = static_cast<double>(i) / static_cast<double>(size);
    frequencies.push_back(static_cast<float>(1.0 / std::pow(static_cast<double>(theta), exponent)));
  }
  const std::string real = b.node("Cast", name + "/Cast", {positions}, {{"to", {std::int64_t{1}}}});
  const std::string column = b.node("Unsqueeze", name + "/Unsqueeze", {real, b.constant("axis_1", {1})});
  return b.node("Mul", name + "/Mul", {column, b.table(name + "/frequencies", {1, size / 2}, frequencies)});
}

// Which key positions are not later than a query's, [seq, seq].
std::string not_later(GraphBuilder& b, const std::string& ids) {
  const std::string positions = position_range(b, ids);
  const std::string key = b.node("Unsqueeze", "mask/keys", {positions, b.constant("axis_0", {0})});
  const std::string query = b.node("Unsqueeze", "mask/queries", {positions, b.constant("axis_1", {1})});
  return b.node("LessOrEqual", "mask/LessOrEqual", {key, query});
}

std::string zero_where(GraphBuilder& b, const std::string& allowed) {
  return b.node("Where", "mask/Where",
                {allowed, b.scalar("mask/zero", 0.0F), b.scalar("mask/lowest", kLowest)});
}

}  // namespace

std::string sequence_length(GraphBuilder& b, const std::string& ids) {
  if (b.made("length/Gather")) {
    return "length/Gather";
  }
  const std::string shape = b.node("Shape", "length/Shape", {ids});
  return b.node("Gather", "length/Gather", {shape, b.scalar_int("one", 1)}, {{"axis", {std::int64_t{0}}}});
}

std::string position_range(GraphBuilder& b, const std::string& ids) {
  if (b.made("positions/Range")) {
    return "positions/Range";
  }
  const std::string length = sequence_length(b, ids);
  return b.node("Range", "positions/Range", {b.scalar_int("zero", 0), length, b.scalar_int("one", 1)});
}

std::string padding_mask(GraphBuilder& b, const std::string& mask) {
  const std::string rows = b.node("Unsqueeze", "mask/Unsqueeze", {mask, b.constant("axis_1", {1})});
  const std::string wide = b.node("Unsqueeze", "mask/Unsqueeze_1", {rows, b.constant("axis_2", {2})});
  const std::string real = b.node("Cast", "mask/Cast", {wide}, {{"to", {std::int64_t{1}}}});
  const std::string off = b.node("Sub", "mask/Sub", {b.scalar("mask/one", 1.0F), real});
  return b.node("Mul", "mask/Mul", {off, b.scalar("mask/lowest", kLowest)});
}

std::string causal_mask(GraphBuilder& b, const std::string& ids, const std::string& mask) {
  const std::string earlier = not_later(b, ids);
  const std::string rows = b.node("Unsqueeze", "mask/Unsqueeze", {mask, b.constant("axis_1", {1})});
  const std::string wide = b.node("Unsqueeze", "mask/Unsqueeze_1", {rows, b.constant("axis_2", {2})});
  const std::string real = b.node("Cast", "mask/Cast", {wide}, {{"to", {std::int64_t{9}}}});  // to bool
  return zero_where(b, b.node("And", "mask/And", {earlier, real}));
}

std::string causal_mask(GraphBuilder& b, const std::string& ids) {
  return zero_where(b, not_later(b, ids));
}

std::string split_heads(GraphBuilder& b, const std::string& scope, const std::string& x, std::int64_t heads,
                        std::int64_t size, std::vector<std::int64_t> permutation) {
  const std::string shape = b.constant("heads_shape_" + std::to_string(heads), {0, 0, heads, size});
  const std::string split = b.node("Reshape", scope + "/Reshape", {x, shape});
  return b.node("Transpose", scope + "/Transpose", {split}, {{"perm", perm(std::move(permutation))}});
}

std::string merge_heads(GraphBuilder& b, const std::string& scope, const std::string& x, std::int64_t width) {
  const std::string back =
      b.node("Transpose", scope + "/merge/Transpose", {x}, {{"perm", perm({0, 2, 1, 3})}});
  return b.node("Reshape", scope + "/merge/Reshape", {back, b.constant("merged_shape", {0, 0, width})});
}

std::string self_attention(GraphBuilder& b, const SelfAttention& a, const std::string& x,
                           const std::string& mask) {
  const std::int64_t size = a.width / a.heads;
  const auto heads = [&](const std::string& scope, std::vector<std::int64_t> permutation) {
    const std::string projected = b.linear(scope, x, a.width, a.width, a.deviation, kBiasDeviation);
    return split_heads(b, scope, projected, a.heads, size, std::move(permutation));
  };
  const std::string q = heads(a.query, {0, 2, 1, 3});
  const std::string k = heads(a.key, {0, 2, 3, 1});
  const std::string v = heads(a.value, {0, 2, 1, 3});
  return merge_heads(b, a.scope, b.attention(a.scope, q, k, v, mask, size), a.width);
}

std::string joint_attention(GraphBuilder& b, const JointAttention& a, const std::string& x,
                            const std::string& mask) {
  const std::string all =
      b.projection(a.scope + ".c_attn", x, a.width, 3 * a.width, a.deviation, kBiasDeviation);
  const auto part = [&](const std::string& which) { return a.scope + "/" + which; };
  b.node_with_outputs("Split", a.scope + "/Split", {all, b.constant("thirds", {a.width, a.width, a.width})},
                      {part("query"), part("key"), part("value")}, {{"axis", {std::int64_t{2}}}});
  const std::int64_t size = a.width / a.heads;
  const auto heads = [&](const std::string& which, std::vector<std::int64_t> permutation) {
    return split_heads(b, part(which), part(which), a.heads, size, std::move(permutation));
  };
  const std::string q = heads("query", {0, 2, 1, 3});
  std::string k, v;
  if (a.phase != nullptr && a.phase->generates()) {
    const std::string keys = a.phase->remember(a.layer, "key", heads("key", {0, 2, 1, 3}));
    k = b.node("Transpose", a.scope + "/key/turned", {keys}, {{"perm", perm({0, 1, 3, 2})}});
    v = a.phase->remember(a.layer, "value", heads("value", {0, 2, 1, 3}));
  } else {
    k = heads("key", {0, 2, 3, 1});
    v = heads("value", {0, 2, 1, 3});
  }
  return merge_heads(b, a.scope, b.attention(a.scope, q, k, v, mask, size), a.width);
}

void sinusoids(GraphBuilder& b, const std::string& name, const std::string& positions, std::int64_t width) {
  const std::string angles = angles_of(b, name, positions, width, 10000.0F);
  b.node("Concat", name, {b.node("Sin", name + "/Sin", {angles}), b.node("Cos", name + "/Cos", {angles})},
         {{"axis", {std::int64_t{1}}}});
}

void rotary_angles(GraphBuilder& b, const std::string& name, const std::string& positions, std::int64_t size,
                   float theta) {
  const std::string angles = angles_of(b, name, positions, size, theta);
  const std::string both =
      b.node("Concat", name + "/Concat", {angles, angles}, {{"axis", {std::int64_t{1}}}});
  b.node("Cos", name + "/Cos", {both});
  b.node("Sin", name + "/Sin", {both});
}

std::string rotate_halves(GraphBuilder& b, const std::string& scope, const std::string& x,
                          const std::string& name, std::int64_t size) {
  b.node_with_outputs("Split", scope + "/Split", {x, b.constant("halves", {size / 2, size / 2})},
                      {scope + "/first", scope + "/second"}, {{"axis", {std::int64_t{3}}}});
  const std::string turned = b.node("Concat", scope + "/Concat",
                                    {b.node("Neg", scope + "/Neg", {scope + "/second"}), scope + "/first"},
                                    {{"axis", {std::int64_t{3}}}});
  return b.node("Add", scope + "/Add",
                {b.node("Mul", scope + "/Mul", {x, name + "/Cos"}),
                 b.node("Mul", scope + "/Mul_1", {turned, name + "/Sin"})});
}

std::string embedding(GraphBuilder& b, const std::string& weight, const std::string& node,
                      const std::string& ids, std::int64_t rows, std::int64_t width, float deviation) {
  return b.node("Gather", node, {b.weight(weight, {rows, width}, 0, deviation), ids});
}

}  // namespace touchstone
