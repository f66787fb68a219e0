// SPDX-License-Identifier: Apache-2.0
// Discrete Fourier transforms, by their definition.
#include <cmath>
#include <complex>
#include <numbers>

#include "reference/operators.h"

namespace touchstone {
namespace {

using Complex = std::complex<double>;

// Σ x[j]·e^(∓2πi·jk/n) for k below `bins`; the inverse is divided by n.
std::vector<Complex> transform(const std::vector<Complex>& x, std::size_t bins, bool inverse) {
  const std::size_t n = x.size();
  std::vector<Complex> roots(n);
  for (std::size_t j = 0; j < n; ++j) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(n);
    roots[j] = {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
  }
  std::vector<Complex> out(bins);
  for (std::size_t k = 0; k < bins; ++k) {
    for (std::size_t j = 0; j < n; ++j) {
      out[k] += x[j] * roots[j * k % n];
    }
    out[k] /= inverse ? static_cast<double>(n) : 1;
  }
  return out;
}

// The axis of signals in [batch, …, length, …, 1 or 2]; an attribute before opset 20, an input since.
std::size_t signal_axis(const Call& call, std::int64_t rank) {
  std::int64_t axis = call.opset < 20 ? call.node.int_attribute("axis", 1) : -2;
  if (call.opset >= 20 && call.has(2)) {
    axis = call.integer(2);
  }
  return normalize_axis(axis, rank);
}

// What is missing of a spectrum of real numbers are the conjugates of what is there.
void complete(std::vector<Complex>& spectrum, std::size_t length) {
  const std::size_t bins = spectrum.size();
  spectrum.resize(length);
  for (std::size_t k = bins; k < length; ++k) {
    spectrum[k] = length - k < bins ? std::conj(spectrum[length - k]) : Complex();
  }
}

Outputs fourier(const Call& call) {
  call.require_rank(0, 2);
  const Value& x = call.input(0);
  const std::size_t axis = signal_axis(call, x.rank());
  const auto parts = static_cast<std::size_t>(x.shape().back());
  if (axis + 1 == x.shape().size() || parts < 1 || parts > 2) {
    return call.wrong("wants [batch, …, 1 or 2], and another axis than the last");
  }
  const bool inverse = call.node.int_attribute("inverse", 0) != 0;
  const bool onesided = call.node.int_attribute("onesided", 0) != 0;
  const auto given = static_cast<std::size_t>(x.shape()[axis]);
  const std::size_t natural = inverse && onesided && given > 0 ? 2 * (given - 1) : given;
  const std::size_t length =
      call.has(1) ? static_cast<std::size_t>(std::max<std::int64_t>(call.integer(1), 0)) : natural;
  if (length == 0 || length > (std::size_t{1} << 24)) {
    return call.wrong("has a transform of no length, or of too large a one");
  }
  const std::size_t bins = onesided && !inverse ? length / 2 + 1 : length;
  const bool real_out = onesided && inverse;
  Shape shape = x.shape();
  shape[axis] = static_cast<std::int64_t>(bins);
  shape.back() = real_out ? 1 : 2;
  Value out = Value::empty_reals(shape, x.type());
  // Strides in complex numbers.
  const std::size_t inner = element_count(std::span(x.shape()).subspan(axis + 1)) / parts;
  const std::size_t outer = element_count(std::span(x.shape()).first(axis));
  const std::size_t out_parts = real_out ? 1 : 2;
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t i = 0; i < inner; ++i) {
      std::vector<Complex> signal(std::min(given, real_out ? length / 2 + 1 : length));
      for (std::size_t j = 0; j < signal.size(); ++j) {
        const std::size_t at = ((o * given + j) * inner + i) * parts;
        signal[j] = {x.d()[at], parts == 2 ? x.d()[at + 1] : 0};
      }
      if (real_out) {
        complete(signal, length);
      }
      signal.resize(length);
      const auto made = transform(signal, bins, inverse);
      for (std::size_t k = 0; k < bins; ++k) {
        const std::size_t at = ((o * bins + k) * inner + i) * out_parts;
        out.d_mutable()[at] = made[k].real();
        if (!real_out) {
          out.d_mutable()[at + 1] = made[k].imag();
        }
      }
    }
  }
  return std::vector{out};
}

// Transforms of overlapping frames: [batch, length, 1 or 2] -> [batch, frames, bins, 2].
Outputs short_time_fourier(const Call& call) {
  call.require_rank(0, 3, 3);
  const Value& x = call.input(0);
  const std::int64_t step = call.integer(1);
  const bool windowed = call.has(2);
  const std::int64_t frame = call.has(3) ? call.integer(3)
                             : windowed  ? static_cast<std::int64_t>(call.input(2).size())
                                         : 0;
  const std::int64_t length = x.shape()[1];
  const auto parts = static_cast<std::size_t>(x.shape()[2]);
  if (step < 1 || frame < 1 || frame > length || parts < 1 || parts > 2 ||
      (windowed && static_cast<std::int64_t>(call.input(2).size()) != frame)) {
    return call.wrong("has a step, a window or a frame that does not fit the signal");
  }
  const bool onesided = call.node.int_attribute("onesided", 1) != 0;
  const std::int64_t frames = (length - frame) / step + 1;
  const std::int64_t bins = onesided ? frame / 2 + 1 : frame;
  Value out = Value::empty_reals({x.shape()[0], frames, bins, 2}, x.type());
  std::size_t to = 0;
  for (std::int64_t b = 0; b < x.shape()[0]; ++b) {
    for (std::int64_t f = 0; f < frames; ++f) {
      std::vector<Complex> signal(static_cast<std::size_t>(frame));
      for (std::size_t j = 0; j < signal.size(); ++j) {
        const std::size_t at = (static_cast<std::size_t>(b * length + f * step) + j) * parts;
        const double weight = windowed ? call.input(2).d()[j] : 1;
        signal[j] = {weight * x.d()[at], parts == 2 ? weight * x.d()[at + 1] : 0};
      }
      for (const Complex& value : transform(signal, static_cast<std::size_t>(bins), false)) {
        out.d_mutable()[to++] = value.real();
        out.d_mutable()[to++] = value.imag();
      }
    }
  }
  return std::vector{out};
}

}  // namespace

const OperatorTable& signal_operators() {
  static const OperatorTable kTable = {{"DFT", fourier}, {"STFT", short_time_fourier}};
  return kTable;
}

}  // namespace touchstone
