// SPDX-License-Identifier: Apache-2.0
// Shapes are small CPU tensors like any other value: what a model computes of them costs a microsecond a
// step.
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/full.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/pixel_shuffle.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/triu.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "graph/bundle.h"
#include "lowering.h"
#include "program.h"

namespace touchstone::pytorch {
namespace {

using at::Tensor;
using Ints = std::vector<std::int64_t>;

Tensor int_tensor(const Ints& values) {
  return at::tensor(values, at::kLong);
}

Result<Lowered> opaque(std::function<Tensor(const Tensors&)> function) {
  return Lowered{[function = std::move(function)](const Tensors& in) { return Tensors{function(in)}; }, {}};
}

Result<Lowered> shape_of(const NodeContext& c) {
  const std::int64_t start = c.node.int_attribute("start", 0);
  const std::int64_t end = c.node.int_attribute("end", 1 << 20);
  return opaque([=](const Tensors& in) {
    const auto sizes = in[0].sizes();
    const auto rank = static_cast<std::int64_t>(sizes.size());
    const auto clamp = [&](std::int64_t v) {
      return std::clamp<std::int64_t>(v < 0 ? v + rank : v, 0, rank);
    };
    const std::int64_t first = clamp(start);
    return int_tensor(Ints(sizes.begin() + first, sizes.begin() + std::max(first, clamp(end))));
  });
}

// The sizes for view/reshape: 0 copies the input's dimension.
Ints target_shape(const Tensor& x, Ints shape, bool zero_is_zero) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !zero_is_zero) {
      shape[i] = x.size(static_cast<std::int64_t>(i));
    }
  }
  return shape;
}

Result<Lowered> reshape(const NodeContext& c) {
  const bool zero_is_zero = c.node.int_attribute("allowzero", 0) != 0;
  Lowered lowered;
  const Tensor constant = c.constant(1);
  if (!constant.defined()) {
    lowered.eager = [=](const Tensors& in) {
      return Tensors{in[0].reshape(target_shape(in[0], integers(in[1]), zero_is_zero))};
    };
    return lowered;
  }
  const Ints shape = integers(constant);
  lowered.eager = [=](const Tensors& in) {
    return Tensors{in[0].reshape(target_shape(in[0], shape, zero_is_zero))};
  };
  lowered.script = [=](const std::vector<std::string>& in) {
    std::vector<std::string> sizes;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      sizes.push_back(shape[i] == 0 && !zero_is_zero ? fmt::format("{}.size({})", in[0], i)
                                                     : std::to_string(shape[i]));
    }
    return fmt::format("{}.reshape([{}])", in[0], fmt::join(sizes, ", "));
  };
  return lowered;
}

Result<Lowered> flatten(const NodeContext& c) {
  const std::int64_t axis = c.node.int_attribute("axis", 1);
  return opaque([axis](const Tensors& in) {
    const auto sizes = in[0].sizes();
    const std::int64_t at = axis < 0 ? axis + in[0].dim() : axis;
    const std::int64_t rows =
        std::accumulate(sizes.begin(), sizes.begin() + at, std::int64_t{1}, std::multiplies<>());
    return in[0].reshape({rows, rows == 0 ? 0 : in[0].numel() / rows});
  });
}

Result<Lowered> squeeze(const NodeContext& c) {
  return opaque([c](const Tensors& in) {
    Ints axes = integers_of(c, in, 1, "axes");
    if (axes.empty()) {
      return in[0].squeeze();
    }
    for (std::int64_t& axis : axes) {
      axis += axis < 0 ? in[0].dim() : 0;
    }
    std::sort(axes.rbegin(), axes.rend());
    Tensor x = in[0];
    for (const std::int64_t axis : axes) {
      x = x.squeeze(axis);
    }
    return x;
  });
}

Result<Lowered> unsqueeze(const NodeContext& c) {
  Lowered lowered;
  const auto apply = [](Tensor x, Ints axes) {
    const auto rank = x.dim() + static_cast<std::int64_t>(axes.size());
    for (std::int64_t& axis : axes) {
      axis += axis < 0 ? rank : 0;
    }
    std::sort(axes.begin(), axes.end());
    for (const std::int64_t axis : axes) {
      x = x.unsqueeze(axis);
    }
    return x;
  };
  const Tensor constant = c.constant(1);
  if (constant.defined() && constant.numel() == 1) {
    const std::int64_t axis = integers(constant)[0];
    lowered.script = [axis](const std::vector<std::string>& in) {
      return fmt::format("{}.unsqueeze({})", in[0], axis);
    };
  }
  lowered.eager = [c, apply](const Tensors& in) {
    return Tensors{apply(in[0], integers_of(c, in, 1, "axes"))};
  };
  return lowered;
}

Result<Lowered> transpose(const NodeContext& c) {
  const Ints order = c.node.ints_attribute("perm");
  Lowered lowered;
  lowered.eager = [order](const Tensors& in) {
    Ints axes = order;
    if (axes.empty()) {
      axes.resize(static_cast<std::size_t>(in[0].dim()));
      std::iota(axes.rbegin(), axes.rend(), 0);
    }
    return Tensors{in[0].permute(axes)};
  };
  if (!order.empty()) {
    lowered.script = [order](const std::vector<std::string>& in) {
      return fmt::format("{}.permute([{}])", in[0], fmt::join(order, ", "));
    };
  }
  return lowered;
}

Result<Lowered> concat(const NodeContext& c) {
  const std::int64_t axis = c.node.int_attribute("axis", 1);
  return Lowered{[axis](const Tensors& in) { return Tensors{at::cat(in, axis)}; },
                 [axis](const std::vector<std::string>& in) {
                   return fmt::format("torch.cat([{}], {})", fmt::join(in, ", "), axis);
                 }};
}

Tensor slice_axis(const Tensor& x, std::int64_t axis, std::int64_t start, std::int64_t end,
                  std::int64_t step) {
  const std::int64_t extent = x.size(axis);
  if (step > 0) {
    return x.slice(axis, std::max(start, -extent), std::min(end, extent), step);
  }
  // ATen takes no negative steps: the same elements, picked by index.
  start = std::clamp<std::int64_t>(start < 0 ? start + extent : start, 0, extent - 1);
  end = std::clamp<std::int64_t>(end < 0 ? end + extent : end, -1, extent - 1);
  const Tensor picked = at::arange(start, end, step, at::kLong);
  return at::index_select(x, axis, picked);
}

Result<Lowered> slice(const NodeContext& c) {
  return opaque([c](const Tensors& in) {
    const Ints starts = integers_of(c, in, 1, "starts");
    const Ints ends = integers_of(c, in, 2, "ends");
    Ints axes(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
    axes = integers_of(c, in, 3, "axes", axes);
    const Ints steps = integers_of(c, in, 4, "steps", Ints(starts.size(), 1));
    Tensor x = in[0];
    for (std::size_t i = 0; i < starts.size(); ++i) {
      x = slice_axis(x, axes[i], starts[i], ends[i], steps[i]);
    }
    return x;
  });
}

Result<Lowered> split(const NodeContext& c) {
  const std::int64_t axis = c.node.int_attribute("axis", 0);
  const auto many = static_cast<std::int64_t>(c.node.outputs.size());
  return Lowered{[=](const Tensors& in) {
                   Ints parts = integers_of(c, in, 1, "split");
                   const std::int64_t extent = in[0].size(axis);
                   if (parts.empty()) {
                     const std::int64_t share = (extent + many - 1) / many;
                     for (std::int64_t i = 0; i < many; ++i) {
                       parts.push_back(std::min(share, extent - i * share));
                     }
                   }
                   return in[0].split_with_sizes(parts, axis);
                 },
                 {}};
}

Result<Lowered> expand(const NodeContext&) {
  return opaque([](const Tensors& in) {
    Ints shape = integers(in[1]);
    // ONNX broadcasts both ways: a 1 asked for keeps the input's dimension, missing leading ones are the
    // input's.
    const auto rank = static_cast<std::int64_t>(shape.size());
    for (std::int64_t back = 1; back <= std::min(rank, in[0].dim()); ++back) {
      std::int64_t& wanted = shape[static_cast<std::size_t>(rank - back)];
      wanted = wanted == 1 ? in[0].size(-back) : wanted;
    }
    const auto sizes = in[0].sizes();
    if (rank < in[0].dim()) {
      shape.insert(shape.begin(), sizes.begin(), sizes.begin() + (in[0].dim() - rank));
    }
    return in[0].expand(shape);
  });
}

Result<Lowered> tile(const NodeContext&) {
  return opaque([](const Tensors& in) { return in[0].repeat(integers(in[1])); });
}

Result<Lowered> pad(const NodeContext& c) {
  const std::string mode = c.node.string_attribute("mode", "constant");
  if (mode == "wrap") {
    return c.unsupported("mode wrap");
  }
  return opaque([c, mode](const Tensors& in) {
    const Ints pads = integers_of(c, in, 1, "pads");
    Ints axes(pads.size() / 2);
    std::iota(axes.begin(), axes.end(), 0);
    axes = integers_of(c, in, 3, "axes", axes);
    // ATen lists the last dimension first, in pairs.
    Ints theirs(static_cast<std::size_t>(2 * in[0].dim()), 0);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const auto axis = static_cast<std::size_t>(axes[i] < 0 ? axes[i] + in[0].dim() : axes[i]);
      const std::size_t at = 2 * (static_cast<std::size_t>(in[0].dim()) - 1 - axis);
      theirs[at] = pads[i];
      theirs[at + 1] = pads[i + axes.size()];
    }
    if (mode == "constant") {
      const bool given = in.size() > 2 && in[2].defined();
      return at::constant_pad_nd(in[0], theirs,
                                 given ? in[2].item() : at::Scalar(c.node.float_attribute("value", 0)));
    }
    while (theirs.size() > 2 && theirs[theirs.size() - 1] == 0 && theirs[theirs.size() - 2] == 0) {
      theirs.resize(theirs.size() - 2);
    }
    return at::pad(in[0], theirs, mode == "edge" ? "replicate" : "reflect");
  });
}

Result<Lowered> range(const NodeContext&) {
  return opaque([](const Tensors& in) {
    return at::arange(in[0].item(), in[1].item(), in[2].item(), in[0].scalar_type());
  });
}

Result<Lowered> constant_of_shape(const NodeContext& c) {
  Tensor fill = at::tensor(0.0F);
  if (const auto found = c.node.attributes.find("value"); found != c.node.attributes.end()) {
    TOUCHSTONE_ASSIGN(fill, constant_tensor(std::get<Constant>(found->second.value)));
  }
  return opaque(
      [fill](const Tensors& in) { return at::full(integers(in[0]), fill.item(), fill.scalar_type()); });
}

Result<Lowered> constant(const NodeContext& c) {
  const auto& attributes = c.node.attributes;
  Tensor value;
  if (const auto found = attributes.find("value"); found != attributes.end()) {
    TOUCHSTONE_ASSIGN(value, constant_tensor(std::get<Constant>(found->second.value)));
  } else if (attributes.contains("value_int")) {
    value = at::tensor(c.node.int_attribute("value_int", 0));
  } else if (attributes.contains("value_float")) {
    value = at::tensor(c.node.float_attribute("value_float", 0));
  } else if (attributes.contains("value_ints")) {
    value = int_tensor(c.node.ints_attribute("value_ints"));
  } else {
    return c.unsupported("a constant of this kind");
  }
  return opaque([value](const Tensors&) { return value; });
}

Result<Lowered> trilu(const NodeContext& c) {
  const bool upper = c.node.int_attribute("upper", 1) != 0;
  return opaque([upper](const Tensors& in) {
    const std::int64_t k = in.size() > 1 && in[1].defined() ? in[1].item<std::int64_t>() : 0;
    return upper ? at::triu(in[0], k) : at::tril(in[0], k);
  });
}

Result<Lowered> dropout(const NodeContext&) {
  return Lowered{[](const Tensors& in) { return Tensors{in[0], at::ones_like(in[0], at::kBool)}; }, {}};
}

Result<Lowered> depth_to_space(const NodeContext& c) {
  const std::int64_t block = c.node.int_attribute("blocksize", 1);
  if (c.node.string_attribute("mode", "DCR") == "CRD") {
    return opaque([block](const Tensors& in) { return at::pixel_shuffle(in[0], block); });
  }
  return opaque([block](const Tensors& in) {
    const Tensor& x = in[0];
    const std::int64_t depth = x.size(1) / (block * block);
    return x.reshape({x.size(0), block, block, depth, x.size(2), x.size(3)})
        .permute({0, 3, 4, 1, 5, 2})
        .reshape({x.size(0), depth, x.size(2) * block, x.size(3) * block});
  });
}

Result<Lowered> space_to_depth(const NodeContext& c) {
  const std::int64_t block = c.node.int_attribute("blocksize", 1);
  return opaque([block](const Tensors& in) {
    const Tensor& x = in[0];
    return x.reshape({x.size(0), x.size(1), x.size(2) / block, block, x.size(3) / block, block})
        .permute({0, 3, 5, 1, 2, 4})
        .reshape({x.size(0), x.size(1) * block * block, x.size(2) / block, x.size(3) / block});
  });
}

}  // namespace

const LoweringTable& shape_lowerings() {
  static const LoweringTable kTable = {
      {"Shape", shape_of},
      {"Size",
       [](const NodeContext&) {
         return opaque([](const Tensors& in) { return at::scalar_tensor(in[0].numel(), at::kLong); });
       }},
      {"Reshape", reshape},
      {"Flatten", flatten},
      {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},
      {"Transpose", transpose},
      {"Concat", concat},
      {"Slice", slice},
      {"Split", split},
      {"Expand", expand},
      {"Tile", tile},
      {"Pad", pad},
      {"Range", range},
      {"ConstantOfShape", constant_of_shape},
      {"Constant", constant},
      {"Trilu", trilu},
      {"Identity", [](const NodeContext&) { return opaque([](const Tensors& in) { return in[0]; }); }},
      {"Dropout", dropout},
      {"DepthToSpace", depth_to_space},
      {"SpaceToDepth", space_to_depth},
  };
  return kTable;
}

}  // namespace touchstone::pytorch
