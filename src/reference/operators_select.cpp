// SPDX-License-Identifier: Apache-2.0
// Unique and TensorScatter: slices of a tensor, compared or overwritten.
#include <algorithm>
#include <numeric>

#include "reference/movement.h"

namespace touchstone {
namespace {

// The slices of `x` along one axis, or its elements.
struct Slices {
  const Value& x;
  std::size_t outer, count, inner;

  std::size_t size() const { return outer * inner; }
  std::size_t position(std::size_t slice, std::size_t element) const {
    return (element / inner * count + slice) * inner + element % inner;
  }
  int compare(std::size_t a, std::size_t b) const {
    for (std::size_t i = 0; i < size(); ++i) {
      const std::size_t at = position(a, i), other = position(b, i);
      const bool less = x.real() ? x.d()[at] < x.d()[other] : x.i()[at] < x.i()[other];
      const bool more = x.real() ? x.d()[at] > x.d()[other] : x.i()[at] > x.i()[other];
      if (less || more) {
        return less ? -1 : 1;
      }
    }
    return 0;
  }
};

Value one_dimensional(std::vector<std::int64_t> numbers) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  return Value::ints({count}, std::move(numbers));
}

// Four outputs: the different slices, where each stood first, which of them each slice is, and how many of
// each.
Outputs unique(const Call& call) {
  const Value& x = call.input(0);
  const bool whole = !call.node.attributes.contains("axis");
  const std::size_t axis = whole ? 0 : call.axis("axis", 0, x.rank());
  const Slices slices = whole ? Slices{x, 1, x.size(), 1}
                              : Slices{x, element_count(std::span(x.shape()).first(axis)),
                                       static_cast<std::size_t>(x.shape()[axis]),
                                       element_count(std::span(x.shape()).subspan(axis + 1))};
  std::vector<std::size_t> order(slices.count);
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return slices.compare(a, b) < 0; });
  std::vector<std::size_t> first;  // of each group of equal slices
  std::vector<std::size_t> group(slices.count);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || slices.compare(order[i - 1], order[i]) != 0) {
      first.push_back(order[i]);
    }
    group[order[i]] = first.size() - 1;
  }
  std::vector<std::size_t> rank(first.size());  // of the groups in the output
  std::iota(rank.begin(), rank.end(), 0U);
  if (call.node.int_attribute("sorted", 1) == 0) {
    std::sort(rank.begin(), rank.end(), [&](std::size_t a, std::size_t b) { return first[a] < first[b]; });
  }
  std::vector<std::size_t> place(rank.size());
  std::vector<std::int64_t> indices, inverse(slices.count), counts(rank.size(), 0);
  for (std::size_t i = 0; i < rank.size(); ++i) {
    place[rank[i]] = i;
    indices.push_back(static_cast<std::int64_t>(first[rank[i]]));
  }
  for (std::size_t i = 0; i < slices.count; ++i) {
    inverse[i] = static_cast<std::int64_t>(place[group[i]]);
    ++counts[place[group[i]]];
  }
  Shape shape = whole ? Shape{static_cast<std::int64_t>(rank.size())} : x.shape();
  shape[axis] = static_cast<std::int64_t>(rank.size());
  const std::size_t kept = rank.size(), inner = slices.inner;
  Value y = pick_elements(x, shape, [&](std::size_t i) {
    const std::size_t slice = i / inner % kept;
    return slices.position(static_cast<std::size_t>(indices[slice]), i / inner / kept * inner + i % inner);
  });
  return std::vector{std::move(y), one_dimensional(std::move(indices)), one_dimensional(std::move(inverse)),
                     one_dimensional(std::move(counts))};
}

// Writes an update into a cache [batch, …, length, …] at each batch's own place.
Outputs tensor_scatter(const Call& call) {
  const Value& cache = call.input(0);
  const Value& update = call.input(1);
  call.require_rank(1, cache.rank(), cache.rank());
  const std::size_t axis = call.axis("axis", -2, cache.rank());
  const bool circular = call.node.string_attribute("mode", "linear") == "circular";
  Shape expected = cache.shape();
  expected[axis] = update.shape()[axis];
  if (axis == 0 || update.shape() != expected || cache.real() != update.real()) {
    return call.wrong(
        fmt::format("cannot write {} into {}", describe(update.shape()), describe(cache.shape())));
  }
  if (call.has(2)) {
    Call::require_count(call.input(2).i(), static_cast<std::size_t>(cache.shape()[0]));
  }
  Value out = pick_elements(cache, cache.shape(), [](std::size_t i) { return i; });
  const std::size_t inner = element_count(std::span(cache.shape()).subspan(axis + 1));
  const auto length = cache.shape()[axis], fresh = update.shape()[axis];
  const std::size_t per_batch = element_count(std::span(update.shape()).subspan(1));
  for (std::size_t i = 0; i < update.size(); ++i) {
    const std::size_t batch = i / per_batch;
    const std::int64_t begin = call.has(2) ? call.input(2).i()[batch] : 0;
    std::int64_t at = begin + static_cast<std::int64_t>(i / inner) % fresh;
    at = circular && length > 0 ? at % length : at;
    if (begin < 0 || at < 0 || at >= length) {
      return call.wrong(fmt::format("writes at {}, outside 0 to {}", at, length - 1));
    }
    const std::size_t outer = i / inner / static_cast<std::size_t>(fresh);
    const std::size_t to =
        (outer * static_cast<std::size_t>(length) + static_cast<std::size_t>(at)) * inner + i % inner;
    if (out.real()) {
      out.d_mutable()[to] = update.d()[i];
    } else {
      out.i_mutable()[to] = update.i()[i];
    }
  }
  return std::vector{out};
}

}  // namespace

const OperatorTable& select_operators() {
  static const OperatorTable kTable = {{"Unique", unique}, {"TensorScatter", tensor_scatter}};
  return kTable;
}

}  // namespace touchstone
