// SPDX-License-Identifier: Apache-2.0
// Sampling images at points that lie between pixels, and choosing among boxes.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "reference/operators.h"

namespace touchstone {
namespace {

enum class Padding { kZeros, kBorder, kReflection };

// Mirrored at both ends until it lies between them.
double reflected(double x, double low, double high) {
  const double range = high - low;
  if (range <= 0) {
    return low;
  }
  const double away = std::fmod(std::abs(x - low), 2 * range);
  return away > range ? high - (away - range) : low + away;
}

// One plane of an image in any number of dimensions.
class Plane {
 public:
  Plane(std::span<const double> data, std::span<const std::int64_t> extents, Padding padding, bool align)
      : data_(data), extents_(extents), padding_(padding), align_(align) {}

  // Where -1 to 1 of a grid lies, and the point that the padding puts in the place of one outside.
  double place(double x, std::size_t axis) const {
    const auto extent = static_cast<double>(extents_[axis]);
    return align_ ? (x + 1) / 2 * (extent - 1) : ((x + 1) * extent - 1) / 2;
  }
  double moved_inside(double x, std::size_t axis) const {
    const auto extent = static_cast<double>(extents_[axis]);
    if (padding_ == Padding::kBorder) {
      return std::clamp(x, 0.0, extent - 1);
    }
    return padding_ == Padding::kReflection && (x < low() || x > extent - 1 - low())
               ? reflected(x, low(), extent - 1 - low())
               : x;
  }

  double pixel(std::span<const std::int64_t> index) const {
    std::int64_t at = 0;
    for (std::size_t axis = 0; axis < extents_.size(); ++axis) {
      std::int64_t i = index[axis];
      const std::int64_t last = extents_[axis] - 1;
      if (padding_ == Padding::kZeros && (i < 0 || i > last)) {
        return 0;
      }
      if (padding_ == Padding::kReflection) {
        i = static_cast<std::int64_t>(
            reflected(static_cast<double>(i), low(), static_cast<double>(last) - low()));
      }
      at = at * extents_[axis] + std::clamp<std::int64_t>(i, 0, last);
    }
    return data_[static_cast<std::size_t>(at)];
  }

  // Sum over the neighbours from `first` on, `weights[axis]` of them along each axis.
  double weighted(std::span<const std::int64_t> first,
                  const std::vector<std::vector<double>>& weights) const {
    std::size_t taps = 1;
    for (const auto& axis : weights) {
      taps *= axis.size();
    }
    double sum = 0;
    std::vector<std::int64_t> index(weights.size());
    for (std::size_t tap = 0; tap < taps; ++tap) {
      std::size_t rest = tap;
      double weight = 1;
      for (std::size_t axis = weights.size(); axis-- > 0;) {
        const std::size_t i = rest % weights[axis].size();
        rest /= weights[axis].size();
        weight *= weights[axis][i];
        index[axis] = first[axis] + static_cast<std::int64_t>(i);
      }
      sum += weight == 0 ? 0 : weight * pixel(index);
    }
    return sum;
  }

 private:
  double low() const { return align_ ? 0 : -0.5; }

  std::span<const double> data_;
  std::span<const std::int64_t> extents_;
  Padding padding_;
  bool align_;
};

// Keys' cubic convolution with a = -0.75.
std::vector<double> cubic_weights(double r) {
  constexpr double kA = -0.75;
  const auto near = [](double x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
  return {far(r + 1), near(r), near(1 - r), far(2 - r)};
}

double sample(const Plane& plane, std::vector<double> point, const std::string& mode) {
  std::vector<std::int64_t> first(point.size());
  std::vector<std::vector<double>> weights(point.size());
  for (std::size_t axis = 0; axis < point.size(); ++axis) {
    // Far outside is outside; beyond this no integer could hold it.
    constexpr double kFar = 1e9;
    double x = std::isnan(point[axis]) ? -kFar : std::clamp(point[axis], -kFar, kFar);
    if (mode == "nearest") {
      first[axis] = static_cast<std::int64_t>(plane.moved_inside(std::nearbyint(x), axis));
      weights[axis] = {1};
      continue;
    }
    x = plane.moved_inside(x, axis);
    const double floor = std::floor(x);
    const bool cubic = mode.ends_with("cubic");
    first[axis] = static_cast<std::int64_t>(floor) - (cubic ? 1 : 0);
    weights[axis] = cubic ? cubic_weights(x - floor) : std::vector<double>{1 - (x - floor), x - floor};
  }
  return plane.weighted(first, weights);
}

Outputs grid_sample(const Call& call) {
  const Value& x = call.input(0);
  const Value& grid = call.input(1);
  call.require_rank(0, 3);
  const std::size_t axes = x.shape().size() - 2;
  const std::string mode = call.node.string_attribute("mode", "linear");
  const std::string padding = call.node.string_attribute("padding_mode", "zeros");
  if (grid.rank() != x.rank() || grid.shape().back() != static_cast<std::int64_t>(axes) ||
      grid.shape()[0] != x.shape()[0] || element_count(x.shape()) == 0) {
    return call.wrong(fmt::format("cannot sample {} at {}", describe(x.shape()), describe(grid.shape())));
  }
  const auto extents = std::span(x.shape()).subspan(2);
  const std::size_t channels = static_cast<std::size_t>(x.shape()[1]), inner = element_count(extents);
  const Shape places(grid.shape().begin() + 1, grid.shape().end() - 1);
  const std::size_t count = element_count(places);
  Shape shape = {x.shape()[0], x.shape()[1]};
  shape.insert(shape.end(), places.begin(), places.end());
  Value out = Value::empty_reals(shape, x.type());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t plane_index = i / count, batch = plane_index / channels;
    const Plane plane(x.d().subspan(plane_index * inner, inner), extents,
                      padding == "border"       ? Padding::kBorder
                      : padding == "reflection" ? Padding::kReflection
                                                : Padding::kZeros,
                      call.node.int_attribute("align_corners", 0) != 0);
    std::vector<double> point(axes);
    for (std::size_t axis = 0; axis < axes; ++axis) {
      // The grid names the last axis first.
      point[axis] = plane.place(grid.d()[(batch * count + i % count) * axes + axes - 1 - axis], axis);
    }
    out.d_mutable()[i] = sample(plane, std::move(point), mode);
  }
  return std::vector{out};
}

// The points of [N, size…, axes] that an affine map of the unit grid gives.
Outputs affine_grid(const Call& call) {
  call.require_rank(0, 3, 3);
  const Value& theta = call.input(0);
  const std::vector<std::int64_t> size = call.ints(1, "");
  if (size.size() < 3 || theta.shape()[1] != static_cast<std::int64_t>(size.size()) - 2 ||
      theta.shape()[2] != theta.shape()[1] + 1 || theta.shape()[0] != size[0]) {
    return call.wrong("has a map that does not fit the size");
  }
  const std::size_t axes = size.size() - 2;
  const bool align = call.node.int_attribute("align_corners", 0) != 0;
  Shape shape = {size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  const std::size_t places = element_count(std::span(shape).subspan(1));
  shape.push_back(static_cast<std::int64_t>(axes));
  Value out = Value::empty_reals(shape, theta.type());
  std::vector<double> point(axes + 1, 1.0);
  for (std::size_t i = 0; i < out.size() / axes; ++i) {
    std::size_t rest = i % places;
    for (std::size_t axis = axes; axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(size[axis + 2]);
      const auto at = static_cast<double>(rest % extent), whole = static_cast<double>(extent);
      rest /= extent;
      point[axes - 1 - axis] = !align ? (2 * at + 1) / whole - 1 : extent > 1 ? 2 * at / (whole - 1) - 1 : 0;
    }
    const auto map = theta.d().subspan(i / places * axes * (axes + 1));
    for (std::size_t row = 0; row < axes; ++row) {
      out.d_mutable()[i * axes + row] = std::inner_product(
          point.begin(), point.end(), map.begin() + static_cast<std::ptrdiff_t>(row * (axes + 1)), 0.0);
    }
  }
  return std::vector{out};
}

// The four pixels around a point, and their weights; none where it lies a pixel or more outside.
struct Corners {
  std::array<std::size_t, 4> at{};
  std::array<double, 4> weight{};
};

std::optional<Corners> corners_of(double y, double x, std::int64_t height, std::int64_t width) {
  const auto h = static_cast<double>(height), w = static_cast<double>(width);
  const bool near = y >= -1 && y <= h && x >= -1 && x <= w;
  if (!near) {
    return std::nullopt;
  }
  y = std::clamp(y, 0.0, h - 1);
  x = std::clamp(x, 0.0, w - 1);
  const auto top = static_cast<std::int64_t>(y), left = static_cast<std::int64_t>(x);
  const std::int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  const double down = y - static_cast<double>(top), across = x - static_cast<double>(left);
  Corners corners;
  corners.at = {static_cast<std::size_t>(top * width + left), static_cast<std::size_t>(top * width + right),
                static_cast<std::size_t>(bottom * width + left),
                static_cast<std::size_t>(bottom * width + right)};
  corners.weight = {(1 - down) * (1 - across), (1 - down) * across, down * (1 - across), down * across};
  return corners;
}

// One side of a region: where it begins, how long a bin is, and how many samples it takes.
struct Side {
  double begin, bin;
  std::int64_t samples;
  double at(std::int64_t index, std::int64_t sample) const {
    return begin + bin * (static_cast<double>(index) +
                          (static_cast<double>(sample) + 0.5) / static_cast<double>(samples));
  }
};

Outputs roi_align(const Call& call) {
  call.require_rank(0, 4, 4);
  call.require_rank(1, 2, 2);
  const Value& x = call.input(0);
  const Value& regions = call.input(1);
  const auto batches = call.input(2).i();
  const std::int64_t rows = call.node.int_attribute("output_height", 1);
  const std::int64_t columns = call.node.int_attribute("output_width", 1);
  const std::int64_t ratio = call.node.int_attribute("sampling_ratio", 0);
  const double scale = call.node.float_attribute("spatial_scale", 1);
  const bool maximum = call.node.string_attribute("mode", "avg") == "max";
  const bool half = call.opset >= 16 && call.node.string_attribute("coordinate_transformation_mode",
                                                                   "half_pixel") == "half_pixel";
  const std::int64_t height = x.shape()[2], width = x.shape()[3], channels = x.shape()[1];
  if (regions.shape()[1] != 4 || static_cast<std::int64_t>(batches.size()) != regions.shape()[0] ||
      rows < 1 || columns < 1 || height < 1 || width < 1) {
    return call.wrong("has regions that do not fit");
  }
  const auto side = [&](double begin, double end, std::int64_t bins) {
    const double offset = half ? 0.5 : 0;
    double length = (end - begin) * scale;
    length = half ? length : std::max(length, 1.0);
    const double bin = length / static_cast<double>(bins);
    const auto samples = ratio > 0 ? ratio : static_cast<std::int64_t>(std::ceil(bin));
    return Side{begin * scale - offset, bin, std::clamp<std::int64_t>(samples, 1, 1 << 16)};
  };
  Value out = Value::empty_reals({regions.shape()[0], channels, rows, columns}, x.type());
  const auto plane = static_cast<std::size_t>(height * width);
  std::size_t to = 0;
  for (std::size_t r = 0; r < batches.size(); ++r) {
    if (batches[r] < 0 || batches[r] >= x.shape()[0]) {
      return call.wrong(fmt::format("has a region of image {}", batches[r]));
    }
    const auto box = regions.d().subspan(4 * r, 4);
    if (std::any_of(box.begin(), box.end(), [](double v) { return !(std::abs(v) < 1e6); })) {
      return call.wrong(fmt::format("has a region from {}, {} to {}, {}", box[0], box[1], box[2], box[3]));
    }
    const Side across = side(box[0], box[2], columns), down = side(box[1], box[3], rows);
    for (std::int64_t c = 0; c < channels; ++c) {
      const auto data = x.d().subspan(static_cast<std::size_t>(batches[r] * channels + c) * plane, plane);
      for (std::int64_t bin = 0; bin < rows * columns; ++bin, ++to) {
        double value = 0;
        bool any = false;
        for (std::int64_t s = 0; s < down.samples * across.samples; ++s) {
          const auto corners = corners_of(down.at(bin / columns, s / across.samples),
                                          across.at(bin % columns, s % across.samples), height, width);
          for (std::size_t i = 0; corners && i < 4; ++i) {
            const double part = corners->weight[i] * data[corners->at[i]];
            value = !maximum ? value + part : any ? std::max(value, part) : part;
            any = true;
          }
        }
        out.d_mutable()[to] = maximum ? value : value / static_cast<double>(down.samples * across.samples);
      }
    }
  }
  return std::vector{out};
}

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};

Box box_of(std::span<const double> b, bool by_centre) {
  if (by_centre) {
    return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  }
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

// Shared area ÷ area of both.
double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0) {
    return 0;
  }
  const double shared = height * width;
  return shared / (a.area() + b.area() - shared);
}

Outputs non_max_suppression(const Call& call) {
  call.require_rank(0, 3, 3);
  call.require_rank(1, 3, 3);
  const Value& boxes = call.input(0);
  const Value& scores = call.input(1);
  const std::int64_t most = call.has(2) ? call.integer(2) : 0;
  const double most_overlap = call.has(3) ? call.input(3).number(0) : 0;
  const double least_score = call.has(4) ? call.input(4).number(0) : -HUGE_VAL;
  const bool by_centre = call.node.int_attribute("center_point_box", 0) != 0;
  const std::int64_t classes = scores.shape()[1], count = scores.shape()[2];
  if (boxes.shape() != Shape{scores.shape()[0], count, 4}) {
    return call.wrong("has boxes and scores that do not fit");
  }
  std::vector<std::int64_t> chosen;
  for (std::int64_t row = 0; row < scores.shape()[0] * classes; ++row) {
    const auto score =
        scores.d().subspan(static_cast<std::size_t>(row * count), static_cast<std::size_t>(count));
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < score.size(); ++i) {
      if (score[i] > least_score) {
        order.push_back(i);
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return score[a] > score[b]; });
    std::vector<Box> kept;
    for (const std::size_t i : order) {
      if (static_cast<std::int64_t>(kept.size()) >= most) {
        break;
      }
      const std::size_t at = static_cast<std::size_t>(row / classes * count) + i;
      const Box box = box_of(boxes.d().subspan(4 * at, 4), by_centre);
      if (std::none_of(kept.begin(), kept.end(),
                       [&](const Box& k) { return overlap(k, box) > most_overlap; })) {
        kept.push_back(box);
        chosen.insert(chosen.end(), {row / classes, row % classes, static_cast<std::int64_t>(i)});
      }
    }
  }
  const auto rows = static_cast<std::int64_t>(chosen.size() / 3);
  return std::vector{Value::ints({rows, 3}, std::move(chosen))};
}

}  // namespace

const OperatorTable& vision_operators() {
  static const OperatorTable kTable = {
      {"GridSample", grid_sample},
      {"AffineGrid", affine_grid},
      {"RoiAlign", roi_align},
      {"NonMaxSuppression", non_max_suppression},
  };
  return kTable;
}

}  // namespace touchstone
