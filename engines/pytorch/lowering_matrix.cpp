// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/affine_grid_generator.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/det.h>
#include <ATen/ops/div.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/grid_sampler.h>
#include <ATen/ops/group_norm.h>
#include <ATen/ops/instance_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/norm.h>
#include <ATen/ops/rms_norm.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/where.h>
#include <fmt/ranges.h>

#include "lowering.h"

namespace touchstone::pytorch {
namespace {

using at::Tensor;

Result<Lowered> matmul(const NodeContext&) {
  return Lowered{[](const Tensors& in) { return Tensors{at::matmul(in[0], in[1])}; },
                 call_text("torch.matmul")};
}

Result<Lowered> gemm(const NodeContext& c) {
  const bool a = c.node.int_attribute("transA", 0) != 0;
  const bool b = c.node.int_attribute("transB", 0) != 0;
  const float alpha = c.node.float_attribute("alpha", 1);
  const float beta = c.node.float_attribute("beta", 1);
  return Lowered{[=](const Tensors& in) {
                   const Tensor left = a ? in[0].t() : in[0];
                   const Tensor right = b ? in[1].t() : in[1];
                   if (in.size() > 2 && in[2].defined()) {
                     return Tensors{at::addmm(in[2], left, right, beta, alpha)};
                   }
                   const Tensor product = at::matmul(left, right);
                   return Tensors{alpha == 1 ? product : at::mul(product, alpha)};
                 },
                 {}};
}

// touchstone.ScaledDotProductAttention(q, k transposed, v, mask).
Result<Lowered> attention(const NodeContext& c) {
  const double scale = c.node.float_attribute("scale", 1);
  return Lowered{
      [scale](const Tensors& in) {
        const std::optional<Tensor> mask =
            in.size() > 3 && in[3].defined() ? std::optional(in[3]) : std::nullopt;
        return Tensors{
            at::scaled_dot_product_attention(in[0], in[1].transpose(-1, -2), in[2], mask, 0.0, false, scale)};
      },
      [scale](const std::vector<std::string>& in) {
        return fmt::format(
            "torch.scaled_dot_product_attention({}, {}.transpose(-1, -2), {}, attn_mask={}, scale={:.17g})",
            in[0], in[1], in[2], in.size() > 3 ? in[3] : "None", scale);
      }};
}

Result<Lowered> layer_normalization(const NodeContext& c) {
  if (c.node.outputs.size() > 1) {
    return c.unsupported("its second output");
  }
  const std::int64_t axis = c.node.int_attribute("axis", -1);
  const double epsilon = c.node.float_attribute("epsilon", 1e-5F);
  Lowered lowered;
  lowered.eager = [=](const Tensors& in) {
    const auto from = axis < 0 ? axis + in[0].dim() : axis;
    const auto width = in[0].sizes().slice(static_cast<std::size_t>(from));
    const std::optional<Tensor> bias = in.size() > 2 && in[2].defined() ? std::optional(in[2]) : std::nullopt;
    return Tensors{at::layer_norm(in[0], width, in[1], bias, epsilon)};
  };
  if (axis == -1 && c.has(2)) {
    lowered.script = [=](const std::vector<std::string>& in) {
      return fmt::format("torch.layer_norm({0}, [{0}.size(-1)], {1}, {2}, {3:.17g})", in[0], in[1], in[2],
                         epsilon);
    };
  }
  return lowered;
}

Result<Lowered> rms_normalization(const NodeContext& c) {
  const std::int64_t axis = c.node.int_attribute("axis", -1);
  const double epsilon = c.node.float_attribute("epsilon", 1e-5F);
  return Lowered{[=](const Tensors& in) {
                   const auto from = axis < 0 ? axis + in[0].dim() : axis;
                   const auto width = in[0].sizes().slice(static_cast<std::size_t>(from));
                   return Tensors{at::rms_norm(in[0], width, in[1], epsilon)};
                 },
                 {}};
}

Result<Lowered> batch_normalization(const NodeContext& c) {
  if (c.node.int_attribute("training_mode", 0) != 0) {
    return c.unsupported("training mode");
  }
  const double epsilon = c.node.float_attribute("epsilon", 1e-5F);
  return Lowered{[epsilon](const Tensors& in) {
                   return Tensors{at::batch_norm(in[0], in[1], in[2], in[3], in[4], false, 0, epsilon, true)};
                 },
                 [epsilon](const std::vector<std::string>& in) {
                   return fmt::format("torch.batch_norm({}, False, 0.0, {:.17g}, True)", fmt::join(in, ", "),
                                      epsilon);
                 }};
}

Result<Lowered> instance_normalization(const NodeContext& c) {
  const double epsilon = c.node.float_attribute("epsilon", 1e-5F);
  return Lowered{[epsilon](const Tensors& in) {
                   return Tensors{at::instance_norm(in[0], in[1], in[2], {}, {}, true, 0, epsilon, true)};
                 },
                 {}};
}

Result<Lowered> group_normalization(const NodeContext& c) {
  if (c.opset < 21) {
    return c.unsupported("opset below 21");
  }
  const std::int64_t groups = c.node.int_attribute("num_groups", 1);
  const double epsilon = c.node.float_attribute("epsilon", 1e-5F);
  return Lowered{
      [=](const Tensors& in) { return Tensors{at::group_norm(in[0], groups, in[1], in[2], epsilon)}; }, {}};
}

// By the sum of magnitudes or the length along an axis; zero where that is zero.
Result<Lowered> lp_normalization(const NodeContext& c) {
  const std::int64_t axis = c.node.int_attribute("axis", -1);
  const std::int64_t power = c.node.int_attribute("p", 2);
  return Lowered{[=](const Tensors& in) {
                   const Tensor norm = at::norm(in[0], power, at::IntArrayRef{axis}, true);
                   return Tensors{at::where(norm.eq(0), at::mul(in[0], 0), at::div(in[0], norm))};
                 },
                 {}};
}

// As ONNX's function body has it: the mean of squares less the square of the mean.
Result<Lowered> mean_variance_normalization(const NodeContext& c) {
  const std::vector<std::int64_t> axes = c.node.ints_attribute("axes", {0, 2, 3});
  return Lowered{[axes](const Tensors& in) {
                   const Tensor mean = at::mean(in[0], axes, true);
                   const Tensor variance =
                       at::sub(at::mean(at::mul(in[0], in[0]), axes, true), at::mul(mean, mean));
                   return Tensors{at::div(at::sub(in[0], mean), at::add(at::sqrt(variance), 1e-9))};
                 },
                 {}};
}

// The second input is the size of the images to be sampled.
Result<Lowered> affine_grid(const NodeContext& c) {
  const bool align = c.node.int_attribute("align_corners", 0) != 0;
  return Lowered{[=](const Tensors& in) {
                   const std::vector<std::int64_t> size = integers_of(c, in, 1, "size");
                   return Tensors{at::affine_grid_generator(in[0], size, align)};
                 },
                 {}};
}

Result<Lowered> determinant(const NodeContext&) {
  return Lowered{[](const Tensors& in) { return Tensors{at::det(in[0])}; }, call_text("torch.det")};
}

Result<Lowered> einsum(const NodeContext& c) {
  std::string equation = c.node.string_attribute("equation", "");
  std::erase(equation, ' ');
  return Lowered{[equation](const Tensors& in) { return Tensors{at::einsum(equation, in)}; }, {}};
}

// ATen's numbers of modes and paddings are those of torch.nn.functional.grid_sample.
Result<Lowered> grid_sample(const NodeContext& c) {
  const std::string mode = c.node.string_attribute("mode", "linear");
  const std::string padding = c.node.string_attribute("padding_mode", "zeros");
  const std::int64_t how = mode == "nearest" ? 1 : mode.ends_with("cubic") ? 2 : 0;
  const std::int64_t beyond = padding == "border" ? 1 : padding == "reflection" ? 2 : 0;
  const bool align = c.node.int_attribute("align_corners", 0) != 0;
  return Lowered{
      [=](const Tensors& in) { return Tensors{at::grid_sampler(in[0], in[1], how, beyond, align)}; }, {}};
}

}  // namespace

const LoweringTable& matrix_lowerings() {
  static const LoweringTable kTable = {
      {"MatMul", matmul},
      {"Gemm", gemm},
      {"touchstone.ScaledDotProductAttention", attention},
      {"LayerNormalization", layer_normalization},
      {"RMSNormalization", rms_normalization},
      {"BatchNormalization", batch_normalization},
      {"InstanceNormalization", instance_normalization},
      {"GroupNormalization", group_normalization},
      {"LpNormalization", lp_normalization},
      {"MeanVarianceNormalization", mean_variance_normalization},
      {"AffineGrid", affine_grid},
      {"Det", determinant},
      {"Einsum", einsum},
      {"GridSample", grid_sample},
  };
  return kTable;
}

}  // namespace touchstone::pytorch
