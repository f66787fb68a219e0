// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "reference/operators.h"

namespace touchstone {
namespace {

// Normalises `count` numbers to mean 0 and variance 1 in place; returns {mean, 1 / deviation}.
std::pair<double, double> standardize(double* x, std::size_t count, double epsilon) {
  double mean = 0;
  for (std::size_t i = 0; i < count; ++i) {
    mean += x[i];
  }
  mean /= static_cast<double>(count);
  double variance = 0;
  for (std::size_t i = 0; i < count; ++i) {
    variance += (x[i] - mean) * (x[i] - mean);
  }
  const double inverse = 1 / std::sqrt(variance / static_cast<double>(count) + epsilon);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = (x[i] - mean) * inverse;
  }
  return {mean, inverse};
}

Value copy_reals(const Value& x) {
  return Value::reals(x.shape(), std::vector<double>(x.d().begin(), x.d().end()), x.type());
}

Outputs layer_normalization(const Call& call) {
  Value out = copy_reals(call.input(0));
  const std::size_t axis = call.axis("axis", -1, out.rank());
  const std::size_t width = element_count(std::span(out.shape()).subspan(axis));
  const std::size_t rows = width == 0 ? 0 : out.size() / width;
  const double epsilon = call.node.float_attribute("epsilon", 1e-5F);
  const auto gain = call.input(1).d();
  if (gain.empty()) {
    return call.wrong("has a scale without elements");
  }
  const auto bias = call.has(2) ? call.input(2).d() : std::span<const double>();
  Shape kept = out.shape();
  std::fill(kept.begin() + static_cast<std::ptrdiff_t>(axis), kept.end(), 1);
  Value means = Value::empty_reals(kept);
  Value inverses = Value::empty_reals(kept);
  const auto to = out.d_mutable();
  parallel_for(rows, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      double* x = to.data() + row * width;
      std::tie(means.d_mutable()[row], inverses.d_mutable()[row]) = standardize(x, width, epsilon);
      for (std::size_t i = 0; i < width; ++i) {
        x[i] = x[i] * gain[i % gain.size()] + (bias.empty() ? 0 : bias[i % bias.size()]);
      }
    }
  });
  return std::vector{out, means, inverses};
}

Outputs rms_normalization(const Call& call) {
  Value out = copy_reals(call.input(0));
  const std::size_t axis = call.axis("axis", -1, out.rank());
  const std::size_t width = element_count(std::span(out.shape()).subspan(axis));
  const double epsilon = call.node.float_attribute("epsilon", 1e-5F);
  const auto gain = call.input(1).d();
  if (gain.empty()) {
    return call.wrong("has a scale without elements");
  }
  for (std::size_t row = 0; row < out.size() / std::max<std::size_t>(width, 1); ++row) {
    double* x = out.d_mutable().data() + row * width;
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i) {
      sum += x[i] * x[i];
    }
    const double inverse = 1 / std::sqrt(sum / static_cast<double>(width) + epsilon);
    for (std::size_t i = 0; i < width; ++i) {
      x[i] *= inverse * gain[i % gain.size()];
    }
  }
  return std::vector{out};
}

// y = x·factor[channel] + offset[channel] for [batch, channels, …].
void scale_channels(Value& out, const std::vector<double>& factor, const std::vector<double>& offset) {
  const std::size_t channels = factor.size();
  const std::size_t inner = element_count(std::span(out.shape()).subspan(2));
  const auto to = out.d_mutable();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t channel = i / inner % channels;
    to[i] = to[i] * factor[channel] + offset[channel];
  }
}

// Mean and variance of one channel over the batch and all places.
std::pair<double, double> channel_moments(const Value& x, std::size_t channel) {
  const auto channels = static_cast<std::size_t>(x.shape()[1]);
  const std::size_t inner = element_count(std::span(x.shape()).subspan(2));
  const auto over_channel = [&](auto term) {
    double sum = 0;
    for (std::size_t start = channel * inner; start < x.size(); start += channels * inner) {
      for (std::size_t i = start; i < start + inner; ++i) {
        sum += term(x.d()[i]);
      }
    }
    return sum / static_cast<double>(x.size() / channels);
  };
  const double mean = over_channel([](double v) { return v; });
  return {mean, over_channel([&](double v) { return (v - mean) * (v - mean); })};
}

// Training: the batch's own mean and variance, which also move the running ones.
Outputs batch_normalization_in_training(const Call& call) {
  Value out = copy_reals(call.input(0));
  const double epsilon = call.node.float_attribute("epsilon", 1e-5F);
  const double momentum = call.node.float_attribute("momentum", 0.9F);
  const std::size_t channels = call.input(1).size();
  std::vector<double> factor(channels), offset(channels), means(channels), variances(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto [mean, variance] = channel_moments(call.input(0), c);
    factor[c] = call.input(1).d()[c] / std::sqrt(variance + epsilon);
    offset[c] = call.input(2).d()[c] - mean * factor[c];
    means[c] = call.input(3).d()[c] * momentum + mean * (1 - momentum);
    variances[c] = call.input(4).d()[c] * momentum + variance * (1 - momentum);
  }
  scale_channels(out, factor, offset);
  const Shape shape = {static_cast<std::int64_t>(channels)};
  return std::vector{out, Value::reals(shape, std::move(means), call.input(3).type()),
                     Value::reals(shape, std::move(variances), call.input(4).type())};
}

Outputs batch_normalization(const Call& call) {
  call.require_rank(0, 2);
  for (std::size_t i = 1; i < 5; ++i) {
    if (call.input(i).size() != static_cast<std::size_t>(call.input(0).shape()[1])) {
      return call.wrong("has parameters that do not fit its channels");
    }
  }
  if (call.node.int_attribute("training_mode", 0) != 0) {
    return batch_normalization_in_training(call);
  }
  Value out = copy_reals(call.input(0));
  const double epsilon = call.node.float_attribute("epsilon", 1e-5F);
  const std::size_t channels = call.input(1).size();
  std::vector<double> factor(channels);
  std::vector<double> offset(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    factor[c] = call.input(1).d()[c] / std::sqrt(call.input(4).d()[c] + epsilon);
    offset[c] = call.input(2).d()[c] - call.input(3).d()[c] * factor[c];
  }
  scale_channels(out, factor, offset);
  return std::vector{out};
}

// Groups of channels are standardised together; instance normalisation has one channel a group.
Outputs group_normalize(const Call& call, std::size_t groups, bool gain_by_group) {
  call.require_rank(0, 2);
  const auto wanted = static_cast<std::size_t>(call.input(0).shape()[1]);
  const std::size_t parameters = gain_by_group ? groups : wanted;
  if (groups == 0 || groups > wanted || wanted % groups != 0 || call.input(1).size() != parameters ||
      call.input(2).size() != parameters) {
    return call.wrong("has groups, scale or bias that do not fit its channels");
  }
  Value out = copy_reals(call.input(0));
  const double epsilon = call.node.float_attribute("epsilon", 1e-5F);
  const auto channels = static_cast<std::size_t>(out.shape()[1]);
  const std::size_t inner = element_count(std::span(out.shape()).subspan(2));
  const std::size_t width = channels / groups * inner;
  for (std::size_t block = 0; block < static_cast<std::size_t>(out.shape()[0]) * groups; ++block) {
    standardize(out.d_mutable().data() + block * width, width, epsilon);
  }
  std::vector<double> factor(channels);
  std::vector<double> offset(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const std::size_t at = gain_by_group ? c / (channels / groups) : c;
    factor[c] = call.input(1).d()[at];
    offset[c] = call.input(2).d()[at];
  }
  scale_channels(out, factor, offset);
  return std::vector{out};
}

Outputs instance_normalization(const Call& call) {
  call.require_rank(0, 2);
  return group_normalize(call, static_cast<std::size_t>(call.input(0).shape()[1]), false);
}

Outputs group_normalization(const Call& call) {
  return group_normalize(call, static_cast<std::size_t>(call.node.int_attribute("num_groups", 1)),
                         call.opset < 21);
}

// (x - mean) ÷ (deviation + 1e-9) over the named axes, the mean of squares less the square of the mean, as
// ONNX's function body has it.
Outputs mean_variance_normalization(const Call& call) {
  const Value& x = call.input(0);
  std::vector<bool> reduced(x.shape().size(), false);
  for (const std::int64_t axis : call.node.ints_attribute("axes", {0, 2, 3})) {
    reduced[normalize_axis(axis, x.rank())] = true;
  }
  Shape kept = x.shape();
  for (std::size_t axis = 0; axis < kept.size(); ++axis) {
    kept[axis] = reduced[axis] ? 1 : kept[axis];
  }
  const auto strides = broadcast_strides(kept, x.shape());
  const auto group = [&](std::size_t i) {
    std::size_t at = 0;
    for (std::size_t axis = kept.size(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(x.shape()[axis]);
      at += i % extent * strides[axis];
      i /= extent;
    }
    return at;
  };
  const std::size_t groups = element_count(kept);
  const double count = groups == 0 ? 1 : static_cast<double>(x.size() / groups);
  std::vector<double> mean(groups, 0.0), square(groups, 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean[group(i)] += x.d()[i] / count;
    square[group(i)] += x.d()[i] * x.d()[i] / count;
  }
  Value out = Value::empty_reals(x.shape(), x.type());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t g = group(i);
    out.d_mutable()[i] =
        (x.d()[i] - mean[g]) / (std::sqrt(std::max(square[g] - mean[g] * mean[g], 0.0)) + 1e-9);
  }
  return std::vector{out};
}

// Divides by the sum of magnitudes (p = 1) or by the length (p = 2) along one axis.
Outputs lp_normalization(const Call& call) {
  Value out = copy_reals(call.input(0));
  const std::size_t axis = call.axis("axis", -1, out.rank());
  const bool square = call.node.int_attribute("p", 2) == 2;
  const std::size_t inner = element_count(std::span(out.shape()).subspan(axis + 1));
  const auto extent = static_cast<std::size_t>(out.shape()[axis]);
  const auto to = out.d_mutable();
  for (std::size_t start = 0; start < to.size(); start += extent * inner) {
    for (std::size_t i = start; i < start + inner; ++i) {
      double sum = 0;
      for (std::size_t e = 0; e < extent; ++e) {
        const double x = to[i + e * inner];
        sum += square ? x * x : std::abs(x);
      }
      const double norm = square ? std::sqrt(sum) : sum;
      for (std::size_t e = 0; e < extent; ++e) {
        to[i + e * inner] = norm == 0 ? 0 : to[i + e * inner] / norm;
      }
    }
  }
  return std::vector{out};
}

// Across channels: x / (bias + alpha / size · sum of the squares of the neighbouring channels) ^ beta.
Outputs local_response_normalization(const Call& call) {
  call.require_rank(0, 2);
  const Value& x = call.input(0);
  const double alpha = call.node.float_attribute("alpha", 1e-4F);
  const double beta = call.node.float_attribute("beta", 0.75F);
  const double bias = call.node.float_attribute("bias", 1);
  const std::int64_t size = call.node.int_attribute("size", 1);
  const std::int64_t channels = x.shape().at(1);
  const std::size_t inner = element_count(std::span(x.shape()).subspan(2));
  Value out = Value::empty_reals(x.shape(), x.type());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto channel = static_cast<std::int64_t>(i / inner) % channels;
    double sum = 0;
    for (std::int64_t c = std::max<std::int64_t>(0, channel - (size - 1) / 2);
         c <= std::min(channels - 1, channel + size / 2); ++c) {
      const double v =
          x.d()[i + static_cast<std::size_t>(c) * inner - static_cast<std::size_t>(channel) * inner];
      sum += v * v;
    }
    out.d_mutable()[i] = x.d()[i] / std::pow(bias + alpha / static_cast<double>(size) * sum, beta);
  }
  return std::vector{out};
}

}  // namespace

const OperatorTable& normalization_operators() {
  static const OperatorTable kTable = {
      {"LayerNormalization", layer_normalization}, {"RMSNormalization", rms_normalization},
      {"BatchNormalization", batch_normalization}, {"InstanceNormalization", instance_normalization},
      {"GroupNormalization", group_normalization}, {"LpNormalization", lp_normalization},
      {"LRN", local_response_normalization},       {"MeanVarianceNormalization", mean_variance_normalization},
  };
  return kTable;
}

}  // namespace touchstone
