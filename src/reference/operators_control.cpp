// SPDX-License-Identifier: Apache-2.0
// If, Loop and Scan.
#include <algorithm>
#include <limits>

#include "reference/operators.h"

namespace touchstone {
namespace {

// Size of what lies behind one index of `axis`, and how many such pieces there are before it.
struct Layout {
  std::size_t outer = 1;
  std::size_t inner = 1;
};

Layout layout_of(const Shape& shape, std::size_t axis) {
  Layout layout;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (i < axis ? layout.outer : layout.inner) *= i == axis ? 1 : static_cast<std::size_t>(shape[i]);
  }
  return layout;
}

// The part of `value` at one index of `axis`, without that axis.
Value part(const Value& value, std::size_t axis, std::int64_t index) {
  Shape shape = value.shape();
  const Layout layout = layout_of(shape, axis);
  const auto length = static_cast<std::size_t>(shape[axis]);
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  const auto copy = [&](auto from, auto to) {
    for (std::size_t o = 0; o < layout.outer; ++o) {
      const std::size_t begin = (o * length + static_cast<std::size_t>(index)) * layout.inner;
      std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(begin), layout.inner,
                  to.begin() + static_cast<std::ptrdiff_t>(o * layout.inner));
    }
  };
  Value out = value.real() ? Value::empty_reals(shape, value.type()) : Value::empty_ints(shape, value.type());
  if (value.real()) {
    copy(value.d(), out.d_mutable());
  } else {
    copy(value.i(), out.i_mutable());
  }
  return out;
}

// The parts side by side along a new axis. Throws std::out_of_range where their shapes or kinds differ.
Value stacked(const std::vector<Value>& parts, std::int64_t axis_given) {
  const Value& first = parts.front();
  const std::size_t axis = normalize_axis(axis_given, first.rank() + 1);
  Shape shape = first.shape();
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<std::int64_t>(parts.size()));
  Value out = first.real() ? Value::empty_reals(shape, first.type()) : Value::empty_ints(shape, first.type());
  const Layout layout = layout_of(shape, axis);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (parts[p].shape() != first.shape() || parts[p].type() != first.type()) {
      throw std::out_of_range("an iteration's output has another shape or type");
    }
    const auto copy = [&](auto from, auto to) {
      for (std::size_t o = 0; o < layout.outer; ++o) {
        std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(o * layout.inner), layout.inner,
                    to.begin() + static_cast<std::ptrdiff_t>((o * parts.size() + p) * layout.inner));
      }
    };
    if (first.real()) {
      copy(parts[p].d(), out.d_mutable());
    } else {
      copy(parts[p].i(), out.i_mutable());
    }
  }
  return out;
}

// What stacking gives when there was no iteration: the declared shape, with what it leaves open empty too.
Value nothing_stacked(const ValueInfo& declared) {
  Shape shape = {0};
  for (const Dimension& dimension : declared.shape.value_or(std::vector<Dimension>{})) {
    shape.push_back(dimension.value.value_or(0));
  }
  return is_real(declared.type) ? Value::empty_reals(shape, declared.type)
                                : Value::empty_ints(shape, declared.type);
}

bool truth(const Value& value) {
  return value.size() > 0 && value.number(0) != 0;
}

Outputs if_operator(const Call& call) {
  return call.bodies.run(truth(call.input(0)) ? "then_branch" : "else_branch", {});
}

Outputs loop_operator(const Call& call) {
  const Graph& body = call.bodies.graph("body");
  const std::size_t carried_count = call.inputs.size() < 2 ? 0 : call.inputs.size() - 2;
  if (body.inputs.size() != carried_count + 2 || body.outputs.size() < carried_count + 1) {
    return call.wrong("its body takes or gives another number of values than the node carries");
  }
  const std::int64_t most = call.has(0) ? call.integer(0) : std::numeric_limits<std::int64_t>::max();
  bool goes_on = !call.has(1) || truth(call.inputs[1]);
  std::vector<Value> carried(
      call.inputs.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, call.inputs.size())),
      call.inputs.end());
  std::vector<std::vector<Value>> scanned(body.outputs.size() - 1 - carried_count);
  for (std::int64_t iteration = 0; iteration < most && goes_on; ++iteration) {
    std::vector<Value> inputs = {Value::ints({}, {iteration}), Value::ints({}, {1}, DataType::kBool)};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    TOUCHSTONE_ASSIGN(const auto outputs, call.bodies.run("body", std::move(inputs)));
    goes_on = truth(outputs[0]);
    std::copy_n(outputs.begin() + 1, carried_count, carried.begin());
    for (std::size_t i = 0; i < scanned.size(); ++i) {
      scanned[i].push_back(outputs[1 + carried_count + i]);
    }
  }
  for (std::size_t i = 0; i < scanned.size(); ++i) {
    carried.push_back(scanned[i].empty() ? nothing_stacked(body.outputs[1 + carried_count + i])
                                         : stacked(scanned[i], 0));
  }
  return carried;
}

// An attribute with one number for each of `count` values; absent: zeros.
std::vector<std::int64_t> each(const Call& call, const std::string& name, std::size_t count) {
  std::vector<std::int64_t> numbers = call.node.ints_attribute(name, std::vector<std::int64_t>(count, 0));
  Call::require_count(numbers, count);
  return numbers;
}

// Since opset 9; that of opset 8, which has a batch dimension, is not computed.
Outputs scan_operator(const Call& call) {
  const Graph& body = call.bodies.graph("body");
  const std::int64_t asked = call.node.int_attribute("num_scan_inputs", 0);
  if (call.opset < 9) {
    return fail(Reason::kUnsupported, "node '{}' (Scan): the reference computes it from opset 9 on",
                call.node.name);
  }
  if (asked < 1 || static_cast<std::size_t>(asked) > call.inputs.size() ||
      body.inputs.size() != call.inputs.size() ||
      body.outputs.size() < call.inputs.size() - static_cast<std::size_t>(asked)) {
    return call.wrong("its body takes or gives another number of values than the node");
  }
  const auto scanned_in = static_cast<std::size_t>(asked);
  const std::size_t states = call.inputs.size() - scanned_in;
  const std::size_t scanned_out = body.outputs.size() - states;
  const auto in_axes = each(call, "scan_input_axes", scanned_in);
  const auto in_directions = each(call, "scan_input_directions", scanned_in);
  const auto out_axes = each(call, "scan_output_axes", scanned_out);
  const auto out_directions = each(call, "scan_output_directions", scanned_out);
  std::vector<Value> state(call.inputs.begin(), call.inputs.begin() + static_cast<std::ptrdiff_t>(states));
  std::vector<std::size_t> axes;
  std::int64_t length = 0;
  for (std::size_t i = 0; i < scanned_in; ++i) {
    const Value& input = call.input(states + i);
    axes.push_back(normalize_axis(in_axes[i], input.rank()));
    const std::int64_t own = input.shape()[axes[i]];
    if (i > 0 && own != length) {
      return call.wrong("its inputs are of different lengths");
    }
    length = own;
  }
  std::vector<std::vector<Value>> collected(scanned_out);
  for (std::int64_t step = 0; step < length; ++step) {
    std::vector<Value> inputs = state;
    for (std::size_t i = 0; i < scanned_in; ++i) {
      inputs.push_back(
          part(call.input(states + i), axes[i], in_directions[i] == 0 ? step : length - 1 - step));
    }
    TOUCHSTONE_ASSIGN(const auto outputs, call.bodies.run("body", std::move(inputs)));
    std::copy_n(outputs.begin(), states, state.begin());
    for (std::size_t i = 0; i < scanned_out; ++i) {
      collected[i].push_back(outputs[states + i]);
    }
  }
  for (std::size_t i = 0; i < scanned_out; ++i) {
    if (out_directions[i] != 0) {
      std::reverse(collected[i].begin(), collected[i].end());
    }
    state.push_back(collected[i].empty() ? nothing_stacked(body.outputs[states + i])
                                         : stacked(collected[i], out_axes[i]));
  }
  return state;
}

}  // namespace

const OperatorTable& control_operators() {
  static const OperatorTable kTable = {{"If", if_operator}, {"Loop", loop_operator}, {"Scan", scan_operator}};
  return kTable;
}

}  // namespace touchstone
