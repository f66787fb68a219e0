// SPDX-License-Identifier: Apache-2.0
// Reductions, softmax, arg-min and arg-max, cumulative sums, top-k.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "reference/operators.h"

namespace touchstone {
namespace {

struct Reduction {
  double start;
  double (*step)(double sum, double x);
  double (*finish)(double sum, double count);
};

double keep(double sum, double) {
  return sum;
}

// Axes come as an input from opset 13 (ReduceSum) or 18 (the others) on, as an attribute before.
Outputs reduce(const Call& call, const Reduction& reduction) {
  const Value& x = call.input(0);
  std::vector<std::int64_t> axes = call.ints(1, "axes");
  const bool keep_dimensions = call.node.int_attribute("keepdims", 1) != 0;
  if (axes.empty() && call.node.int_attribute("noop_with_empty_axes", 0) != 0) {
    return std::vector{x};
  }
  std::vector<bool> reduced(x.shape().size(), axes.empty());
  for (const std::int64_t axis : axes) {
    reduced.at(normalize_axis(axis, x.rank())) = true;
  }
  Shape kept;
  Shape squeezed;
  for (std::size_t axis = 0; axis < reduced.size(); ++axis) {
    kept.push_back(reduced[axis] ? 1 : x.shape()[axis]);
    if (!reduced[axis]) {
      squeezed.push_back(x.shape()[axis]);
    }
  }
  const std::size_t outputs = element_count(kept);
  std::vector<double> sums(outputs, reduction.start);
  const auto to = broadcast_strides(kept, x.shape());
  std::vector<std::size_t> index(x.shape().size(), 0);
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sums[at] = reduction.step(sums[at], x.number(i));
    for (std::size_t axis = index.size(); axis-- > 0;) {
      at += to[axis];
      if (++index[axis] < static_cast<std::size_t>(x.shape()[axis])) {
        break;
      }
      at -= to[axis] * index[axis];
      index[axis] = 0;
    }
  }
  const double count = outputs == 0 ? 0 : static_cast<double>(x.size()) / static_cast<double>(outputs);
  for (double& sum : sums) {
    sum = reduction.finish(sum, count);
  }
  const Shape shape = keep_dimensions ? kept : squeezed;
  if (x.real()) {
    return std::vector{Value::reals(shape, std::move(sums), x.type())};
  }
  return std::vector{Value::ints(shape, {sums.begin(), sums.end()}, x.type())};
}

// LogSumExp in one pass would overflow; it is taken against the maximum.
Outputs reduce_log_sum_exp(const Call& call) {
  double top = -std::numeric_limits<double>::infinity();
  for (const double v : call.input(0).d()) {
    top = std::max(top, v);
  }
  if (!std::isfinite(top)) {
    top = 0;
  }
  std::vector<double> shifted(call.input(0).d().begin(), call.input(0).d().end());
  for (double& v : shifted) {
    v = std::exp(v - top);
  }
  std::vector<Value> inputs(call.inputs.begin(), call.inputs.end());
  inputs[0] = Value::reals(call.input(0).shape(), std::move(shifted), call.input(0).type());
  auto out = reduce(call.with(inputs), {0, [](double s, double x) { return s + x; }, keep});
  if (out) {
    for (double& v : out->front().d_mutable()) {
      v = std::log(v) + top;
    }
  }
  return out;
}

// A tensor seen as [outer, extent, inner] around one axis.
struct AxisView {
  std::size_t outer = 1, extent = 1, inner = 1;
  AxisView(const Shape& shape, std::size_t axis) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      (i < axis ? outer : i == axis ? extent : inner) *= static_cast<std::size_t>(shape[i]);
    }
  }
  std::size_t at(std::size_t o, std::size_t e, std::size_t i) const { return (o * extent + e) * inner + i; }
};

Outputs softmax(const Call& call, bool logarithm) {
  const Value& x = call.input(0);
  const std::size_t axis = call.axis("axis", call.opset < 13 ? 1 : -1, x.rank());
  Shape shape = x.shape();
  if (call.opset < 13) {  // the older form flattens to two dimensions first
    std::int64_t rows = 1;
    std::int64_t columns = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      (i < axis ? rows : columns) *= shape[i];
    }
    shape = {rows, columns};
  }
  const AxisView view(shape, call.opset < 13 ? 1 : axis);
  Value out = Value::empty_reals(x.shape(), x.type());
  const auto from = x.d();
  const auto to = out.d_mutable();
  parallel_for(view.outer, std::max<std::size_t>(1, 4096 / (view.extent * view.inner + 1)),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t o = begin; o < end; ++o) {
                   for (std::size_t i = 0; i < view.inner; ++i) {
                     double top = -std::numeric_limits<double>::infinity();
                     for (std::size_t e = 0; e < view.extent; ++e) {
                       top = std::max(top, from[view.at(o, e, i)]);
                     }
                     double sum = 0;
                     for (std::size_t e = 0; e < view.extent; ++e) {
                       const double value = std::exp(from[view.at(o, e, i)] - top);
                       to[view.at(o, e, i)] = value;
                       sum += value;
                     }
                     for (std::size_t e = 0; e < view.extent; ++e) {
                       double& value = to[view.at(o, e, i)];
                       value = logarithm ? from[view.at(o, e, i)] - top - std::log(sum) : value / sum;
                     }
                   }
                 }
               });
  return std::vector{out};
}

Outputs arg_extreme(const Call& call, bool largest) {
  const Value& x = call.input(0);
  const std::size_t axis = call.axis("axis", 0, x.rank());
  const bool last = call.node.int_attribute("select_last_index", 0) != 0;
  const AxisView view(x.shape(), axis);
  Shape shape = x.shape();
  shape[axis] = 1;
  std::vector<std::int64_t> best(view.outer * view.inner);
  for (std::size_t o = 0; o < view.outer; ++o) {
    for (std::size_t i = 0; i < view.inner; ++i) {
      std::size_t at = 0;
      for (std::size_t e = 1; e < view.extent; ++e) {
        const double here = x.number(view.at(o, e, i));
        const double there = x.number(view.at(o, at, i));
        const bool better = largest ? here > there : here < there;
        at = better || (last && here == there) ? e : at;
      }
      best[o * view.inner + i] = static_cast<std::int64_t>(at);
    }
  }
  if (call.node.int_attribute("keepdims", 1) == 0) {
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  }
  return std::vector{Value::ints(shape, std::move(best))};
}

// One where ArgMax points, zero elsewhere.
Outputs hardmax(const Call& call) {
  const Value& x = call.input(0);
  std::size_t axis = call.axis("axis", call.opset < 13 ? 1 : -1, x.rank());
  Shape shape = x.shape();
  if (call.opset < 13) {
    shape = {static_cast<std::int64_t>(element_count(std::span(x.shape()).first(axis))),
             static_cast<std::int64_t>(element_count(std::span(x.shape()).subspan(axis)))};
    axis = 1;
  }
  const AxisView view(shape, axis);
  Value out = Value::empty_reals(x.shape(), x.type());
  if (view.extent == 0) {
    return std::vector{out};
  }
  for (std::size_t o = 0; o < view.outer; ++o) {
    for (std::size_t i = 0; i < view.inner; ++i) {
      std::size_t best = 0;
      for (std::size_t e = 1; e < view.extent; ++e) {
        best = x.number(view.at(o, e, i)) > x.number(view.at(o, best, i)) ? e : best;
      }
      out.d_mutable()[view.at(o, best, i)] = 1;
    }
  }
  return std::vector{out};
}

template <class Step>
Outputs cumulate(const Call& call, double start, Step step_of) {
  const Value& x = call.input(0);
  const AxisView view(x.shape(), normalize_axis(call.integer(1), x.rank()));
  const bool exclusive = call.node.int_attribute("exclusive", 0) != 0;
  const bool reverse = call.node.int_attribute("reverse", 0) != 0;
  std::vector<double> out(x.size());
  for (std::size_t o = 0; o < view.outer; ++o) {
    for (std::size_t i = 0; i < view.inner; ++i) {
      double sum = start;
      for (std::size_t step = 0; step < view.extent; ++step) {
        const std::size_t at = view.at(o, reverse ? view.extent - 1 - step : step, i);
        const double next = step_of(sum, x.number(at));
        out[at] = exclusive ? sum : next;
        sum = next;
      }
    }
  }
  if (x.real()) {
    return std::vector{Value::reals(x.shape(), std::move(out), x.type())};
  }
  return std::vector{Value::ints(x.shape(), {out.begin(), out.end()}, x.type())};
}

Outputs top_k(const Call& call) {
  const Value& x = call.input(0);
  const auto k = static_cast<std::size_t>(call.has(1) ? call.integer(1) : call.node.int_attribute("k", 1));
  const std::size_t axis = call.axis("axis", -1, x.rank());
  const bool largest = call.node.int_attribute("largest", 1) != 0;
  const AxisView view(x.shape(), axis);
  if (k > view.extent) {
    return call.wrong(fmt::format("asks for {} of {} elements", k, view.extent));
  }
  Shape shape = x.shape();
  shape[axis] = static_cast<std::int64_t>(k);
  const AxisView to(shape, axis);
  Value values = x.real() ? Value::empty_reals(shape, x.type()) : Value::empty_ints(shape, x.type());
  Value indices = Value::empty_ints(shape);
  std::vector<std::size_t> order(view.extent);
  for (std::size_t o = 0; o < view.outer; ++o) {
    for (std::size_t i = 0; i < view.inner; ++i) {
      std::iota(order.begin(), order.end(), 0U);
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const double left = x.number(view.at(o, a, i));
        const double right = x.number(view.at(o, b, i));
        return largest ? left > right : left < right;
      });
      for (std::size_t e = 0; e < k; ++e) {
        const std::size_t from = view.at(o, order[e], i);
        indices.i_mutable()[to.at(o, e, i)] = static_cast<std::int64_t>(order[e]);
        if (x.real()) {
          values.d_mutable()[to.at(o, e, i)] = x.d()[from];
        } else {
          values.i_mutable()[to.at(o, e, i)] = x.i()[from];
        }
      }
    }
  }
  return std::vector{values, indices};
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

const OperatorTable& reduce_operators() {
  static const OperatorTable kTable = {
      {"ReduceSum",
       [](const Call& c) {
         return reduce(c, {0, [](double s, double x) { return s + x; }, keep});
       }},
      {"ReduceMean",
       [](const Call& c) {
         return reduce(
             c, {0, [](double s, double x) { return s + x; }, [](double s, double n) { return s / n; }});
       }},
      {"ReduceMax",
       [](const Call& c) {
         return reduce(c, {-kInfinity, [](double s, double x) { return std::max(s, x); }, keep});
       }},
      {"ReduceMin",
       [](const Call& c) {
         return reduce(c, {kInfinity, [](double s, double x) { return std::min(s, x); }, keep});
       }},
      {"ReduceProd",
       [](const Call& c) {
         return reduce(c, {1, [](double s, double x) { return s * x; }, keep});
       }},
      {"ReduceL1",
       [](const Call& c) {
         return reduce(c, {0, [](double s, double x) { return s + std::abs(x); }, keep});
       }},
      {"ReduceL2",
       [](const Call& c) {
         return reduce(c, {0, [](double s, double x) { return s + x * x; },
                           [](double s, double) { return std::sqrt(s); }});
       }},
      {"ReduceSumSquare",
       [](const Call& c) {
         return reduce(c, {0, [](double s, double x) { return s + x * x; }, keep});
       }},
      {"ReduceLogSum",
       [](const Call& c) {
         return reduce(
             c, {0, [](double s, double x) { return s + x; }, [](double s, double) { return std::log(s); }});
       }},
      {"ReduceLogSumExp", reduce_log_sum_exp},
      {"Softmax", [](const Call& c) { return softmax(c, false); }},
      {"LogSoftmax", [](const Call& c) { return softmax(c, true); }},
      {"ArgMax", [](const Call& c) { return arg_extreme(c, true); }},
      {"ArgMin", [](const Call& c) { return arg_extreme(c, false); }},
      {"CumSum", [](const Call& c) { return cumulate(c, 0, std::plus<double>()); }},
      {"CumProd", [](const Call& c) { return cumulate(c, 1, std::multiplies<double>()); }},
      {"Hardmax", hardmax},
      {"TopK", top_k},
  };
  return kTable;
}

}  // namespace touchstone
