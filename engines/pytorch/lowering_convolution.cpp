// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/amax.h>
#include <ATen/ops/avg_pool1d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/avg_pool3d.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/max_pool1d.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/max_pool3d.h>
#include <ATen/ops/mean.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "lowering.h"

namespace touchstone::pytorch {
namespace {

using at::Tensor;
using Ints = std::vector<std::int64_t>;

// Window attributes of convolution and pooling; `spatial` dimensions.
struct Window {
  Ints kernel, stride, dilation, pads;  // pads: all starts, then all ends
  std::string automatic;
};

Window window_of(const NodeContext& c, std::size_t spatial) {
  Window w;
  w.kernel = c.node.ints_attribute("kernel_shape");
  w.stride = c.node.ints_attribute("strides", Ints(spatial, 1));
  w.dilation = c.node.ints_attribute("dilations", Ints(spatial, 1));
  w.pads = c.node.ints_attribute("pads", Ints(2 * spatial, 0));
  w.automatic = c.node.string_attribute("auto_pad", "NOTSET");
  return w;
}

// SAME_UPPER and SAME_LOWER depend on the input's size.
Ints pads_for(const Window& w, const Ints& kernel, at::IntArrayRef sizes) {
  if (!w.automatic.starts_with("SAME")) {
    return w.pads;
  }
  const std::size_t spatial = kernel.size();
  Ints pads(2 * spatial);
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::int64_t extent = sizes[i + 2];
    const std::int64_t out = (extent + w.stride[i] - 1) / w.stride[i];
    const std::int64_t reach = (kernel[i] - 1) * w.dilation[i] + 1;
    const std::int64_t total = std::max<std::int64_t>(0, (out - 1) * w.stride[i] + reach - extent);
    pads[i] = w.automatic == "SAME_LOWER" ? (total + 1) / 2 : total / 2;
    pads[i + spatial] = total - pads[i];
  }
  return pads;
}

// Pads that differ at the two ends are made by hand; what remains is symmetric.
Tensor pad_by_hand(const Tensor& x, const Ints& pads, double fill) {
  const std::size_t spatial = pads.size() / 2;
  Ints theirs;
  for (std::size_t i = spatial; i-- > 0;) {
    theirs.push_back(pads[i]);
    theirs.push_back(pads[i + spatial]);
  }
  return at::constant_pad_nd(x, theirs, fill);
}

bool symmetric(const Ints& pads) {
  const auto half = static_cast<std::ptrdiff_t>(pads.size() / 2);
  return std::equal(pads.begin(), pads.begin() + half, pads.begin() + half);
}

Result<Lowered> convolution(const NodeContext& c) {
  const Tensor weight = c.constant(1);
  if (!weight.defined()) {
    return c.unsupported("a weight that is computed");
  }
  const auto spatial = static_cast<std::size_t>(weight.dim() - 2);
  const Window w = window_of(c, spatial);
  const Ints kernel(weight.sizes().begin() + 2, weight.sizes().end());
  const std::int64_t groups = c.node.int_attribute("group", 1);
  return Lowered{[=](const Tensors& in) {
                   Ints pads = pads_for(w, kernel, in[0].sizes());
                   Tensor x = in[0];
                   if (!symmetric(pads)) {
                     x = pad_by_hand(x, pads, 0);
                     std::fill(pads.begin(), pads.end(), 0);
                   }
                   pads.resize(spatial);
                   const std::optional<Tensor> bias =
                       in.size() > 2 && in[2].defined() ? std::optional(in[2]) : std::nullopt;
                   return Tensors{at::convolution(x, in[1], bias, w.stride, pads, w.dilation, false,
                                                  Ints(spatial, 0), groups)};
                 },
                 {}};
}

Result<Lowered> transposed_convolution(const NodeContext& c) {
  const Tensor weight = c.constant(1);
  if (!weight.defined()) {
    return c.unsupported("a weight that is computed");
  }
  const auto spatial = static_cast<std::size_t>(weight.dim() - 2);
  const Window w = window_of(c, spatial);
  if (!symmetric(w.pads) || w.automatic.starts_with("SAME") || c.node.attributes.contains("output_shape")) {
    return c.unsupported("uneven padding or a stated output shape");
  }
  const Ints extra = c.node.ints_attribute("output_padding", Ints(spatial, 0));
  const std::int64_t groups = c.node.int_attribute("group", 1);
  const Ints pads(w.pads.begin(), w.pads.begin() + static_cast<std::ptrdiff_t>(spatial));
  return Lowered{
      [=](const Tensors& in) {
        const std::optional<Tensor> bias =
            in.size() > 2 && in[2].defined() ? std::optional(in[2]) : std::nullopt;
        return Tensors{at::convolution(in[0], in[1], bias, w.stride, pads, w.dilation, true, extra, groups)};
      },
      {}};
}

Tensor max_pool(const Tensor& x, const Window& w, const Ints& pads, bool up) {
  switch (w.kernel.size()) {
    case 1:
      return at::max_pool1d(x, w.kernel, w.stride, pads, w.dilation, up);
    case 2:
      return at::max_pool2d(x, w.kernel, w.stride, pads, w.dilation, up);
    default:
      return at::max_pool3d(x, w.kernel, w.stride, pads, w.dilation, up);
  }
}

Tensor average_pool(const Tensor& x, const Window& w, const Ints& pads, bool up, bool count_padding) {
  switch (w.kernel.size()) {
    case 1:
      return at::avg_pool1d(x, w.kernel, w.stride, pads, up, count_padding);
    case 2:
      return at::avg_pool2d(x, w.kernel, w.stride, pads, up, count_padding);
    default:
      return at::avg_pool3d(x, w.kernel, w.stride, pads, up, count_padding);
  }
}

Result<Lowered> pool(const NodeContext& c, bool maximum) {
  const Window w = window_of(c, c.node.ints_attribute("kernel_shape").size());
  const bool up = c.node.int_attribute("ceil_mode", 0) != 0;
  const bool count_padding = c.node.int_attribute("count_include_pad", 0) != 0;
  const bool dilated = std::any_of(w.dilation.begin(), w.dilation.end(), [](auto d) { return d != 1; });
  if (c.node.outputs.size() > 1) {
    return c.unsupported("its indices");
  }
  if (!maximum && (dilated || ((!symmetric(w.pads) || w.automatic.starts_with("SAME")) && !count_padding))) {
    return c.unsupported("dilation or uneven padding");
  }
  return Lowered{
      [=](const Tensors& in) {
        Ints pads = pads_for(w, w.kernel, in[0].sizes());
        Tensor x = in[0];
        const bool half = std::equal(w.kernel.begin(), w.kernel.end(), pads.begin(),
                                     [](auto k, auto p) { return 2 * p <= k; });
        if (!symmetric(pads) || !half) {
          x = pad_by_hand(x, pads, maximum ? -std::numeric_limits<double>::infinity() : 0);
          std::fill(pads.begin(), pads.end(), 0);
        }
        pads.resize(w.kernel.size());
        return Tensors{maximum ? max_pool(x, w, pads, up) : average_pool(x, w, pads, up, count_padding)};
      },
      {}};
}

Result<Lowered> global_pool(const NodeContext&, bool maximum) {
  return Lowered{[maximum](const Tensors& in) {
                   Ints axes(static_cast<std::size_t>(in[0].dim() - 2));
                   std::iota(axes.begin(), axes.end(), 2);
                   return Tensors{maximum ? at::amax(in[0], axes, true) : at::mean(in[0], axes, true)};
                 },
                 {}};
}

}  // namespace

const LoweringTable& convolution_lowerings() {
  using C = const NodeContext&;
  static const LoweringTable kTable = {
      {"Conv", convolution},
      {"ConvTranspose", transposed_convolution},
      {"MaxPool", [](C c) { return pool(c, true); }},
      {"AveragePool", [](C c) { return pool(c, false); }},
      {"GlobalAveragePool", [](C c) { return global_pool(c, false); }},
      {"GlobalMaxPool", [](C c) { return global_pool(c, true); }},
  };
  return kTable;
}

}  // namespace touchstone::pytorch
