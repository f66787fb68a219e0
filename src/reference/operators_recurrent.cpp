// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM, forward, reverse and in both directions. Formulas and order of the gates as in ONNX's
// specification.
#include <algorithm>
#include <cmath>

#include "reference/operators.h"

namespace touchstone {
namespace {

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// The sizes, and one direction's weights.
struct Layer {
  std::size_t steps, batch, width, hidden, gates, directions;
  const Value *input, *weights, *recurrent;
  const Value* bias;       // null: zeros
  const Value* peepholes;  // LSTM only; null: zeros
  bool batch_first, reset_after;

  double x(std::size_t step, std::size_t row, std::size_t i) const {
    return input->number((batch_first ? row * steps + step : step * batch + row) * width + i);
  }
  double bias_at(std::size_t direction, std::size_t set, std::size_t unit) const {
    return bias == nullptr ? 0 : bias->number((direction * 2 + set) * gates * hidden + unit);
  }
  double peephole(std::size_t direction, std::size_t gate, std::size_t unit) const {
    return peepholes == nullptr ? 0 : peepholes->number((direction * 3 + gate) * hidden + unit);
  }
  // x·Wᵀ + Wb for one unit of one gate, and h·Rᵀ + Rb.
  double from_input(std::size_t direction, std::size_t unit, std::size_t step, std::size_t row) const {
    double sum = bias_at(direction, 0, unit);
    for (std::size_t i = 0; i < width; ++i) {
      sum += x(step, row, i) * weights->number((direction * gates * hidden + unit) * width + i);
    }
    return sum;
  }
  double from_state(std::size_t direction, std::size_t unit, const double* h) const {
    double sum = bias_at(direction, 1, unit);
    for (std::size_t i = 0; i < hidden; ++i) {
      sum += h[i] * recurrent->number((direction * gates * hidden + unit) * hidden + i);
    }
    return sum;
  }
};

struct State {
  std::vector<double> h, c;
};

using Cell = void (*)(const Layer& layer, std::size_t direction, std::size_t step, std::size_t row,
                      State& state);

void rnn_cell(const Layer& layer, std::size_t direction, std::size_t step, std::size_t row, State& state) {
  const std::vector<double> old = state.h;
  for (std::size_t j = 0; j < layer.hidden; ++j) {
    state.h[j] =
        std::tanh(layer.from_input(direction, j, step, row) + layer.from_state(direction, j, old.data()));
  }
}

void gru_cell(const Layer& layer, std::size_t direction, std::size_t step, std::size_t row, State& state) {
  const std::vector<double> old = state.h;
  const std::size_t n = layer.hidden;
  const auto gate = [&](std::size_t unit) {
    return sigmoid(layer.from_input(direction, unit, step, row) +
                   layer.from_state(direction, unit, old.data()));
  };
  std::vector<double> reset(n), kept(n);
  for (std::size_t j = 0; j < n; ++j) {
    reset[j] = gate(n + j);
    kept[j] = reset[j] * old[j];
  }
  for (std::size_t j = 0; j < n; ++j) {
    const double update = gate(j);
    const double recurrent = layer.reset_after ? reset[j] * layer.from_state(direction, 2 * n + j, old.data())
                                               : layer.from_state(direction, 2 * n + j, kept.data());
    const double candidate = std::tanh(layer.from_input(direction, 2 * n + j, step, row) + recurrent);
    state.h[j] = (1 - update) * candidate + update * old[j];
  }
}

void lstm_cell(const Layer& layer, std::size_t direction, std::size_t step, std::size_t row, State& state) {
  const std::vector<double> old = state.h;
  const std::size_t n = layer.hidden;
  const auto sum = [&](std::size_t gate, std::size_t j) {  // gates in the order i, o, f, c
    return layer.from_input(direction, gate * n + j, step, row) +
           layer.from_state(direction, gate * n + j, old.data());
  };
  for (std::size_t j = 0; j < n; ++j) {
    const double before = state.c[j];
    const double in = sigmoid(sum(0, j) + layer.peephole(direction, 0, j) * before);
    const double forget = sigmoid(sum(2, j) + layer.peephole(direction, 2, j) * before);
    state.c[j] = forget * before + in * std::tanh(sum(3, j));
    state.h[j] = sigmoid(sum(1, j) + layer.peephole(direction, 1, j) * state.c[j]) * std::tanh(state.c[j]);
  }
}

// Layouts: Y is [steps, directions, batch, hidden] or, batch first, [batch, steps, directions, hidden].
struct LayerOutputs {
  Value y, h, c;
};

void run_row(const Call& call, const Layer& layer, Cell cell, std::size_t direction, std::size_t row,
             bool reverse, LayerOutputs& out) {
  const auto state_at = [&](std::size_t j) {
    return (layer.batch_first ? row * layer.directions + direction : direction * layer.batch + row) *
               layer.hidden +
           j;
  };
  State state{std::vector<double>(layer.hidden, 0), std::vector<double>(layer.hidden, 0)};
  for (std::size_t j = 0; j < layer.hidden; ++j) {
    state.h[j] = call.has(5) ? call.input(5).number(state_at(j)) : 0;
    state.c[j] = call.has(6) ? call.input(6).number(state_at(j)) : 0;
  }
  const auto stated = call.has(4) ? call.input(4).number(row) : static_cast<double>(layer.steps);
  const auto length = static_cast<std::size_t>(std::clamp(stated, 0.0, static_cast<double>(layer.steps)));
  for (std::size_t i = 0; i < length; ++i) {
    const std::size_t step = reverse ? length - 1 - i : i;
    cell(layer, direction, step, row, state);
    const std::size_t at = layer.batch_first ? (row * layer.steps + step) * layer.directions + direction
                                             : (step * layer.directions + direction) * layer.batch + row;
    std::copy(state.h.begin(), state.h.end(),
              out.y.d_mutable().begin() + static_cast<std::ptrdiff_t>(at * layer.hidden));
  }
  for (std::size_t j = 0; j < layer.hidden; ++j) {
    out.h.d_mutable()[state_at(j)] = state.h[j];
    out.c.d_mutable()[state_at(j)] = state.c[j];
  }
}

Outputs recurrent(const Call& call, Cell cell, std::size_t gates) {
  for (const char* name : {"activations", "clip", "input_forget"}) {
    if (call.node.attributes.contains(name) &&
        (name != std::string("input_forget") || call.node.int_attribute(name, 0) != 0)) {
      return fail(Reason::kUnsupported, "node '{}' ({}): the reference does not know its attribute {}",
                  call.node.name, call.node.op_type, name);
    }
  }
  const Value& x = call.input(0);
  const std::string direction = call.node.string_attribute("direction", "forward");
  const bool batch_first = call.node.int_attribute("layout", 0) != 0;
  const auto size = [](const Value& v, std::size_t axis) {
    return static_cast<std::size_t>(v.shape().at(axis));
  };
  const Layer layer{size(x, batch_first ? 1 : 0),
                    size(x, batch_first ? 0 : 1),
                    size(x, 2),
                    size(call.input(2), 2),
                    gates,
                    size(call.input(1), 0),
                    &x,
                    &call.input(1),
                    &call.input(2),
                    call.has(3) ? &call.input(3) : nullptr,
                    call.has(7) ? &call.input(7) : nullptr,
                    batch_first,
                    call.node.int_attribute("linear_before_reset", 0) != 0};
  for (std::size_t i = 0; i < 3; ++i) {
    call.require_rank(i, 3, 3);
  }
  if (layer.directions > 2) {
    return call.wrong("has weights for more than two directions");
  }
  const auto n = [](std::size_t v) { return static_cast<std::int64_t>(v); };
  const Shape whole = batch_first
                          ? Shape{n(layer.batch), n(layer.steps), n(layer.directions), n(layer.hidden)}
                          : Shape{n(layer.steps), n(layer.directions), n(layer.batch), n(layer.hidden)};
  const Shape last = batch_first ? Shape{n(layer.batch), n(layer.directions), n(layer.hidden)}
                                 : Shape{n(layer.directions), n(layer.batch), n(layer.hidden)};
  LayerOutputs out{Value::empty_reals(whole, x.type()), Value::empty_reals(last, x.type()),
                   Value::empty_reals(last, x.type())};
  for (std::size_t d = 0; d < layer.directions; ++d) {
    for (std::size_t row = 0; row < layer.batch; ++row) {
      run_row(call, layer, cell, d, row, direction == "reverse" || d == 1, out);
    }
  }
  return std::vector{out.y, out.h, out.c};
}

}  // namespace

const OperatorTable& recurrent_operators() {
  static const OperatorTable kTable = {
      {"RNN", [](const Call& c) { return recurrent(c, rnn_cell, 1); }},
      {"GRU", [](const Call& c) { return recurrent(c, gru_cell, 3); }},
      {"LSTM", [](const Call& c) { return recurrent(c, lstm_cell, 4); }},
  };
  return kTable;
}

}  // namespace touchstone
