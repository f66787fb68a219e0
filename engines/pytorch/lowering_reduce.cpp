// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/abs.h>
#include <ATen/ops/amax.h>
#include <ATen/ops/amin.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/argmin.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/flip.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/prod.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/topk.h>

#include <numeric>

#include "lowering.h"

namespace touchstone::pytorch {
namespace {

using at::Tensor;
using Reduce = Tensor (*)(const Tensor& x, at::IntArrayRef axes, bool keep);

Result<Lowered> reduction(const NodeContext& c, Reduce reduce) {
  const bool keep = c.node.int_attribute("keepdims", 1) != 0;
  const bool nothing = c.node.int_attribute("noop_with_empty_axes", 0) != 0;
  return Lowered{[=](const Tensors& in) {
                   std::vector<std::int64_t> axes = integers_of(c, in, 1, "axes");
                   if (axes.empty() && nothing) {
                     return Tensors{in[0]};
                   }
                   if (axes.empty()) {
                     axes.resize(static_cast<std::size_t>(in[0].dim()));
                     std::iota(axes.begin(), axes.end(), 0);
                   }
                   return Tensors{reduce(in[0], axes, keep)};
                 },
                 {}};
}

Tensor product(const Tensor& x, at::IntArrayRef axes, bool keep) {
  Tensor out = x;
  std::vector<std::int64_t> order(axes.begin(), axes.end());
  for (std::int64_t& axis : order) {
    axis += axis < 0 ? x.dim() : 0;
  }
  std::sort(order.rbegin(), order.rend());
  for (const std::int64_t axis : order) {
    out = at::prod(out, axis, keep);
  }
  return out.to(x.scalar_type());
}

Result<Lowered> softmax(const NodeContext& c, bool logarithm) {
  const std::int64_t axis = c.node.int_attribute("axis", c.opset < 13 ? 1 : -1);
  const auto apply = [logarithm](const Tensor& x, std::int64_t at) {
    return logarithm ? at::log_softmax(x, at) : at::softmax(x, at);
  };
  if (c.opset < 13) {  // the older form flattens to two dimensions first
    return Lowered{[=](const Tensors& in) {
                     const std::int64_t at = axis < 0 ? axis + in[0].dim() : axis;
                     const auto sizes = in[0].sizes();
                     const std::int64_t rows = std::accumulate(sizes.begin(), sizes.begin() + at,
                                                               std::int64_t{1}, std::multiplies<>());
                     return Tensors{apply(in[0].reshape({rows, -1}), 1).reshape(sizes)};
                   },
                   {}};
  }
  const std::string name = logarithm ? "torch.log_softmax" : "torch.softmax";
  return Lowered{
      [=](const Tensors& in) { return Tensors{apply(in[0], axis)}; },
      [=](const std::vector<std::string>& in) { return fmt::format("{}({}, {})", name, in[0], axis); }};
}

Result<Lowered> arg_extreme(const NodeContext& c, bool largest) {
  if (c.node.int_attribute("select_last_index", 0) != 0) {
    return c.unsupported("select_last_index");
  }
  const std::int64_t axis = c.node.int_attribute("axis", 0);
  const bool keep = c.node.int_attribute("keepdims", 1) != 0;
  return Lowered{[=](const Tensors& in) {
                   return Tensors{largest ? at::argmax(in[0], axis, keep) : at::argmin(in[0], axis, keep)};
                 },
                 {}};
}

Result<Lowered> cumulative_sum(const NodeContext& c) {
  const bool exclusive = c.node.int_attribute("exclusive", 0) != 0;
  const bool reverse = c.node.int_attribute("reverse", 0) != 0;
  return Lowered{[=](const Tensors& in) {
                   const auto axis = in[1].item<std::int64_t>();
                   const Tensor x = reverse ? at::flip(in[0], {axis}) : in[0];
                   Tensor sum = at::cumsum(x, axis).to(x.scalar_type());
                   if (exclusive) {
                     sum = at::sub(sum, x);
                   }
                   return Tensors{reverse ? at::flip(sum, {axis}) : sum};
                 },
                 {}};
}

Result<Lowered> top_k(const NodeContext& c) {
  const std::int64_t axis = c.node.int_attribute("axis", -1);
  const bool largest = c.node.int_attribute("largest", 1) != 0;
  const bool sorted = c.node.int_attribute("sorted", 1) != 0;
  const std::int64_t fallback = c.node.int_attribute("k", 1);
  return Lowered{[=](const Tensors& in) {
                   const auto k = in.size() > 1 && in[1].defined() ? in[1].item<std::int64_t>() : fallback;
                   auto [values, indices] = at::topk(in[0], k, axis, largest, sorted);
                   return Tensors{values, indices};
                 },
                 {}};
}

}  // namespace

const LoweringTable& reduce_lowerings() {
  using C = const NodeContext&;
  using Axes = at::IntArrayRef;
  static const LoweringTable kTable = {
      {"ReduceSum",
       [](C c) {
         return reduction(c,
                          [](const Tensor& x, Axes a, bool k) { return at::sum(x, a, k, x.scalar_type()); });
       }},
      {"ReduceMean",
       [](C c) { return reduction(c, [](const Tensor& x, Axes a, bool k) { return at::mean(x, a, k); }); }},
      {"ReduceMax",
       [](C c) { return reduction(c, [](const Tensor& x, Axes a, bool k) { return at::amax(x, a, k); }); }},
      {"ReduceMin",
       [](C c) { return reduction(c, [](const Tensor& x, Axes a, bool k) { return at::amin(x, a, k); }); }},
      {"ReduceProd", [](C c) { return reduction(c, product); }},
      {"ReduceL1",
       [](C c) {
         return reduction(c, [](const Tensor& x, Axes a, bool k) { return at::sum(at::abs(x), a, k); });
       }},
      {"ReduceL2",
       [](C c) {
         return reduction(
             c, [](const Tensor& x, Axes a, bool k) { return at::sqrt(at::sum(at::mul(x, x), a, k)); });
       }},
      {"ReduceSumSquare",
       [](C c) {
         return reduction(c, [](const Tensor& x, Axes a, bool k) { return at::sum(at::mul(x, x), a, k); });
       }},
      {"ReduceLogSum",
       [](C c) {
         return reduction(c, [](const Tensor& x, Axes a, bool k) { return at::log(at::sum(x, a, k)); });
       }},
      {"ReduceLogSumExp",
       [](C c) {
         return reduction(c, [](const Tensor& x, Axes a, bool k) { return at::logsumexp(x, a, k); });
       }},
      {"Softmax", [](C c) { return softmax(c, false); }},
      {"LogSoftmax", [](C c) { return softmax(c, true); }},
      {"ArgMax", [](C c) { return arg_extreme(c, true); }},
      {"ArgMin", [](C c) { return arg_extreme(c, false); }},
      {"CumSum", cumulative_sum},
      {"TopK", top_k},
  };
  return kTable;
}

}  // namespace touchstone::pytorch
