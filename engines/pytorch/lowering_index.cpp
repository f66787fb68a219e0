// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/index.h>
#include <ATen/ops/index_put.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/one_hot.h>
#include <ATen/ops/scatter.h>
#include <ATen/ops/scatter_reduce.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include "lowering.h"

namespace touchstone::pytorch {
namespace {

using at::Tensor;

// Negative indices count from the end in ONNX; ATen's gather family refuses them.
Tensor non_negative(const Tensor& indices, std::int64_t extent) {
  const Tensor wide = indices.to(at::kLong);
  return at::where(wide.lt(0), wide.add(extent), wide);
}

Result<Lowered> gather(const NodeContext& c) {
  const std::int64_t axis = c.node.int_attribute("axis", 0);
  const Tensor table = c.constant(0);
  const bool embedding = table.defined() && table.dim() == 2 && axis == 0 && table.is_floating_point();
  if (embedding) {  // a table of weights: what users write as nn.Embedding
    return Lowered{[](const Tensors& in) { return Tensors{at::embedding(in[0], in[1])}; },
                   call_text("torch.embedding")};
  }
  const Tensor picked = c.constant(1);
  if (picked.defined() && picked.dim() == 0) {
    const auto index = picked.item<std::int64_t>();
    return Lowered{[=](const Tensors& in) { return Tensors{in[0].select(axis, index)}; },
                   [=](const std::vector<std::string>& in) {
                     return fmt::format("{}.select({}, {})", in[0], axis, index);
                   }};
  }
  return Lowered{[axis](const Tensors& in) {
                   const std::int64_t at = axis < 0 ? axis + in[0].dim() : axis;
                   const Tensor indices = non_negative(in[1], in[0].size(at));
                   std::vector<std::int64_t> shape(in[0].sizes().begin(), in[0].sizes().begin() + at);
                   shape.insert(shape.end(), indices.sizes().begin(), indices.sizes().end());
                   shape.insert(shape.end(), in[0].sizes().begin() + at + 1, in[0].sizes().end());
                   return Tensors{at::index_select(in[0], at, indices.reshape({-1})).reshape(shape)};
                 },
                 {}};
}

Result<Lowered> gather_elements(const NodeContext& c) {
  const std::int64_t axis = c.node.int_attribute("axis", 0);
  return Lowered{[axis](const Tensors& in) {
                   return Tensors{at::gather(in[0], axis, non_negative(in[1], in[0].size(axis)))};
                 },
                 {}};
}

c10::List<std::optional<Tensor>> index_columns(const Tensor& indices) {
  c10::List<std::optional<Tensor>> columns;
  for (std::int64_t i = 0; i < indices.size(-1); ++i) {
    columns.push_back(std::optional(indices.select(-1, i)));
  }
  return columns;
}

Result<Lowered> gather_nd(const NodeContext& c) {
  if (c.node.int_attribute("batch_dims", 0) != 0) {
    return c.unsupported("batch_dims");
  }
  return Lowered{
      [](const Tensors& in) { return Tensors{at::index(in[0], index_columns(in[1].to(at::kLong)))}; }, {}};
}

Result<Lowered> scatter_elements(const NodeContext& c) {
  const std::int64_t axis = c.node.int_attribute("axis", 0);
  const std::string reduction = c.node.string_attribute("reduction", "none");
  static const std::map<std::string, std::string> kNames = {
      {"add", "sum"}, {"mul", "prod"}, {"max", "amax"}, {"min", "amin"}};
  const auto name = kNames.find(reduction);
  if (reduction != "none" && name == kNames.end()) {
    return c.unsupported("reduction " + reduction);
  }
  const std::string theirs = name == kNames.end() ? "" : name->second;
  return Lowered{[axis, theirs](const Tensors& in) {
                   const Tensor indices = non_negative(in[1], in[0].size(axis));
                   return Tensors{theirs.empty() ? at::scatter(in[0], axis, indices, in[2])
                                                 : at::scatter_reduce(in[0], axis, indices, in[2], theirs)};
                 },
                 {}};
}

Result<Lowered> scatter_nd(const NodeContext& c) {
  const std::string reduction = c.node.string_attribute("reduction", "none");
  if (reduction != "none" && reduction != "add") {
    return c.unsupported("reduction " + reduction);
  }
  const bool add = reduction == "add";
  return Lowered{[add](const Tensors& in) {
                   return Tensors{at::index_put(in[0], index_columns(in[1].to(at::kLong)), in[2], add)};
                 },
                 {}};
}

Result<Lowered> one_hot(const NodeContext& c) {
  const std::int64_t axis = c.node.int_attribute("axis", -1);
  return Lowered{[axis](const Tensors& in) {
                   const auto depth = in[1].item<std::int64_t>();
                   const Tensor hot = at::one_hot(non_negative(in[0], depth), depth).to(at::kBool);
                   const Tensor made = at::where(hot, in[2].select(0, 1), in[2].select(0, 0));
                   return Tensors{made.movedim(-1, axis)};
                 },
                 {}};
}

Result<Lowered> non_zero(const NodeContext&) {
  return Lowered{[](const Tensors& in) { return Tensors{at::nonzero(in[0]).t().contiguous()}; }, {}};
}

// The slices (or, without an axis, the elements) at which a condition holds.
Result<Lowered> compress(const NodeContext& c) {
  const bool whole = !c.node.attributes.contains("axis");
  const std::int64_t axis = c.node.int_attribute("axis", 0);
  return Lowered{[=](const Tensors& in) {
                   const Tensor places = at::nonzero(in[1]).reshape({-1});
                   return Tensors{at::index_select(whole ? in[0].reshape({-1}) : in[0], axis, places)};
                 },
                 {}};
}

Result<Lowered> eye_like(const NodeContext& c) {
  const std::int64_t diagonal = c.node.int_attribute("k", 0);
  std::optional<at::ScalarType> type;
  if (c.node.attributes.contains("dtype")) {
    TOUCHSTONE_ASSIGN(type, scalar_type(static_cast<DataType>(c.node.int_attribute("dtype", 1))));
  }
  return Lowered{[=](const Tensors& in) {
                   const auto options = in[0].options().dtype(type.value_or(in[0].scalar_type()));
                   const Tensor rows = at::arange(in[0].size(0), at::kLong).unsqueeze(1).add(diagonal);
                   const Tensor columns = at::arange(in[0].size(1), at::kLong).unsqueeze(0);
                   return Tensors{rows.eq(columns).to(options.dtype())};
                 },
                 {}};
}

// One where the largest number of an axis first stands; before opset 13 all axes from that one on are one.
Result<Lowered> hardmax(const NodeContext& c) {
  if (c.opset < 13) {
    return c.unsupported("opset below 13");
  }
  const std::int64_t axis = c.node.int_attribute("axis", -1);
  return Lowered{[axis](const Tensors& in) {
                   const Tensor places = at::argmax(in[0], axis, true);
                   return Tensors{at::scatter(at::zeros_like(in[0]), axis, places, 1)};
                 },
                 {}};
}

}  // namespace

const LoweringTable& index_lowerings() {
  static const LoweringTable kTable = {
      {"Gather", gather},        {"GatherElements", gather_elements},
      {"GatherND", gather_nd},   {"ScatterElements", scatter_elements},
      {"ScatterND", scatter_nd}, {"OneHot", one_hot},
      {"NonZero", non_zero},     {"Scatter", scatter_elements},
      {"Compress", compress},    {"EyeLike", eye_like},
      {"Hardmax", hardmax},
  };
  return kTable;
}

}  // namespace touchstone::pytorch
