// SPDX-License-Identifier: Apache-2.0
// ONNX's Attention and RotaryEmbedding (operator set 23).
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "reference/gemm.h"
#include "reference/operators.h"

namespace touchstone {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// [batch, seq, heads · size] as [batch, heads, seq, size]; a tensor of rank 4 stays.
Value split_heads(const Value& x, std::int64_t heads) {
  if (x.rank() == 4 || heads == 0) {
    return x;
  }
  const auto length = static_cast<std::size_t>(x.shape()[1]);
  const auto many = static_cast<std::size_t>(heads);
  if (heads < 0 || x.shape()[2] % heads != 0) {
    throw std::out_of_range("the width is no multiple of the heads");
  }
  const std::size_t width = static_cast<std::size_t>(x.shape()[2]) / many;
  std::vector<double> out(x.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t d = i % width, s = i / width % length, h = i / width / length % many,
                      b = i / width / length / many;
    out[i] = x.d()[((b * length + s) * many + h) * width + d];
  }
  return Value::reals({x.shape()[0], heads, x.shape()[1], static_cast<std::int64_t>(width)}, std::move(out),
                      x.type());
}

Value merge_heads(const Value& x) {
  const auto heads = static_cast<std::size_t>(x.shape()[1]), length = static_cast<std::size_t>(x.shape()[2]);
  const auto width = static_cast<std::size_t>(x.shape()[3]);
  std::vector<double> out(x.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t d = i % width, s = i / width % length, h = i / width / length % heads,
                      b = i / width / length / heads;
    out[((b * length + s) * heads + h) * width + d] = x.d()[i];
  }
  return Value::reals({x.shape()[0], x.shape()[2], x.shape()[1] * x.shape()[3]}, std::move(out), x.type());
}

// Past keys or values before the present ones, along the sequence.
Value append(const Value& past, const Value& present) {
  Shape shape = present.shape();
  if (past.rank() != 4 || shape.size() != 4 || past.shape()[0] != shape[0] || past.shape()[1] != shape[1] ||
      past.shape()[3] != shape[3] || present.size() == 0) {
    throw std::out_of_range("past keys or values do not fit the present ones");
  }
  shape[2] += past.shape()[2];
  Value out = Value::empty_reals(shape, present.type());
  const std::size_t outer = element_count(std::span(shape).first(2));
  const std::size_t old = past.size() / outer, fresh = present.size() / outer;
  for (std::size_t o = 0; o < outer; ++o) {
    const auto to = out.d_mutable().begin() + static_cast<std::ptrdiff_t>(o * (old + fresh));
    std::copy_n(past.d().begin() + static_cast<std::ptrdiff_t>(o * old), old, to);
    std::copy_n(present.d().begin() + static_cast<std::ptrdiff_t>(o * fresh), fresh,
                to + static_cast<std::ptrdiff_t>(old));
  }
  return out;
}

// What is added to the score of one query and key.
class Bias {
 public:
  Bias(const Call& call, const Shape& scores, std::size_t past)
      : call_(call),
        queries_(static_cast<std::size_t>(scores[2])),
        keys_(static_cast<std::size_t>(scores[3])),
        past_(past),
        causal_(call.node.int_attribute("is_causal", 0) != 0) {
    if (call.has(3)) {
      const Shape& mask = call.input(3).shape();
      call.require_rank(3, 1, 4);
      mask_keys_ = static_cast<std::size_t>(mask.back());
      Shape whole(4, 1);
      std::copy(mask.begin(), mask.end(), whole.end() - static_cast<std::ptrdiff_t>(mask.size()));
      for (std::size_t axis = 0; axis < 3; ++axis) {
        if (whole[axis] != 1 && whole[axis] != scores[axis]) {
          throw std::out_of_range("the mask does not fit the scores");
        }
      }
      strides_ = broadcast_strides(whole, whole);
    }
    if (call.has(6)) {
      Call::require_count(call.input(6).i(), static_cast<std::size_t>(scores[0]));
    }
  }
  double operator()(std::size_t batch, std::size_t head, std::size_t query, std::size_t key) const {
    const bool padded = call_.has(6);
    const auto real_keys = padded ? call_.input(6).i()[batch] : static_cast<std::int64_t>(keys_);
    const std::int64_t offset =
        padded ? real_keys - static_cast<std::int64_t>(queries_) : static_cast<std::int64_t>(past_);
    const auto q = static_cast<std::int64_t>(query), k = static_cast<std::int64_t>(key);
    if (k >= real_keys || (causal_ && k > q + offset)) {
      return kMinusInfinity;
    }
    if (!call_.has(3)) {
      return 0;
    }
    if (mask_keys_ != 1 && key >= mask_keys_) {
      return kMinusInfinity;
    }
    const Value& mask = call_.input(3);
    const std::size_t at = batch * strides_[0] + head * strides_[1] + query * strides_[2] + key * strides_[3];
    return mask.type() == DataType::kBool ? (mask.i()[at] != 0 ? 0 : kMinusInfinity) : mask.number(at);
  }

 private:
  const Call& call_;
  std::size_t queries_, keys_, past_, mask_keys_ = 0;
  bool causal_;
  std::vector<std::size_t> strides_;
};

// Softmax of one row; a row that is masked as a whole gives zeros.
void softmax_row(double* row, std::size_t count) {
  const double top = *std::max_element(row, row + count);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    row[i] = top == kMinusInfinity ? 0 : std::exp(row[i] - top);
    sum += row[i];
  }
  for (std::size_t i = 0; i < count; ++i) {
    row[i] = sum == 0 ? 0 : row[i] / sum;
  }
}

struct Heads {
  Value q, k, v;
  std::size_t past = 0;
};

// Scores, probabilities and output of one head of one batch row.
void attend(const Call& call, const Heads& heads, std::size_t b, std::size_t h, Value& scores, Value& out) {
  const auto dimension = [](const Value& x, std::size_t axis) {
    return static_cast<std::size_t>(x.shape()[axis]);
  };
  const std::size_t queries = dimension(heads.q, 2), keys = dimension(heads.k, 2),
                    width = dimension(heads.q, 3);
  const std::size_t group = h / (dimension(heads.q, 1) / dimension(heads.k, 1));
  const std::size_t at = b * dimension(heads.q, 1) + h, kv = b * dimension(heads.k, 1) + group;
  std::vector<double> transposed(width * keys);
  for (std::size_t i = 0; i < transposed.size(); ++i) {
    transposed[i] = heads.k.d()[kv * keys * width + i % keys * width + i / keys];
  }
  double* s = scores.d_mutable().data() + at * queries * keys;
  gemm(queries, keys, width, heads.q.d().data() + at * queries * width, transposed.data(), s);
  const double scale = call.node.float_attribute("scale", 0);
  const double factor = scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(width));
  const double cap = call.node.float_attribute("softcap", 0);
  const Bias bias(call, scores.shape(), heads.past);
  for (std::size_t i = 0; i < queries * keys; ++i) {
    s[i] *= factor;
    s[i] = cap > 0 ? cap * std::tanh(s[i] / cap) : s[i];
    s[i] += bias(b, h, i / keys, i % keys);
  }
  for (std::size_t row = 0; row < queries; ++row) {
    softmax_row(s + row * keys, keys);
  }
  const std::size_t values = dimension(heads.v, 3);
  gemm(queries, values, keys, s, heads.v.d().data() + kv * keys * values,
       out.d_mutable().data() + at * queries * values);
}

bool fit(const Heads& heads) {
  const Shape &q = heads.q.shape(), &k = heads.k.shape(), &v = heads.v.shape();
  return q.size() == 4 && k.size() == 4 && v.size() == 4 && q[0] == k[0] && q[0] == v[0] && k[1] == v[1] &&
         k[1] > 0 && q[1] % k[1] == 0 && k[2] == v[2] && k[2] > 0 && q[3] == k[3];
}

Outputs attention(const Call& call) {
  for (std::size_t i = 0; i < 3; ++i) {
    call.require_rank(i, 3, 4);
  }
  const bool flat = call.input(0).rank() == 3;
  const std::int64_t query_heads = call.node.int_attribute("q_num_heads", 0);
  const std::int64_t key_heads = call.node.int_attribute("kv_num_heads", query_heads);
  if (flat && (query_heads <= 0 || key_heads <= 0)) {
    return call.wrong("wants q_num_heads and kv_num_heads with inputs of rank 3");
  }
  if (call.node.outputs.size() > 3 && call.node.int_attribute("qk_matmul_output_mode", 0) != 3) {
    return fail(Reason::kUnsupported,
                "node '{}' (Attention): the reference gives the scores after softmax only", call.node.name);
  }
  Heads heads{split_heads(call.input(0), query_heads), split_heads(call.input(1), key_heads),
              split_heads(call.input(2), key_heads)};
  if (call.has(4) && call.has(5)) {
    heads.k = append(call.input(4), heads.k);
    heads.v = append(call.input(5), heads.v);
    heads.past = static_cast<std::size_t>(call.input(4).shape()[2]);
  }
  if (!fit(heads)) {
    return call.wrong(fmt::format("queries {}, keys {} and values {} do not fit together",
                                  describe(heads.q.shape()), describe(heads.k.shape()),
                                  describe(heads.v.shape())));
  }
  const Shape& q = heads.q.shape();
  Value scores = Value::empty_reals({q[0], q[1], q[2], heads.k.shape()[2]}, heads.q.type());
  Value out = Value::empty_reals({q[0], q[1], q[2], heads.v.shape()[3]}, heads.q.type());
  const auto many = static_cast<std::size_t>(q[1]);
  for (std::size_t i = 0; i < static_cast<std::size_t>(q[0]) * many; ++i) {
    attend(call, heads, i / many, i % many, scores, out);
  }
  return std::vector{flat ? merge_heads(out) : out, heads.k, heads.v, scores};
}

std::size_t position_at(const Call& call, std::size_t place) {
  const auto positions = call.input(3).i();
  if (place >= positions.size() || positions[place] < 0) {
    throw std::out_of_range("a position is missing or negative");
  }
  return static_cast<std::size_t>(positions[place]);
}

// Turns pairs of elements by the angle of their position; the elements beyond `rotary_embedding_dim` stay.
Outputs rotary_embedding(const Call& call) {
  call.require_rank(0, 3, 4);
  const Value x =
      split_heads(call.input(0), call.input(0).rank() == 3 ? call.node.int_attribute("num_heads", 0) : 1);
  if (x.rank() != 4) {
    return call.wrong("wants num_heads with an input of rank 3");
  }
  const auto heads = static_cast<std::size_t>(x.shape()[1]), length = static_cast<std::size_t>(x.shape()[2]);
  const auto width = static_cast<std::size_t>(x.shape()[3]);
  const auto stated = static_cast<std::size_t>(call.node.int_attribute("rotary_embedding_dim", 0));
  const std::size_t turned = stated == 0 ? width : stated, half = turned / 2;
  if (turned > width || call.input(1).size() != call.input(2).size()) {
    return call.wrong("has caches or a rotary dimension that do not fit its width");
  }
  const bool interleaved = call.node.int_attribute("interleaved", 0) != 0;
  Value out = Value::reals(x.shape(), std::vector<double>(x.d().begin(), x.d().end()), x.type());
  for (std::size_t row = 0; row < x.size() / std::max<std::size_t>(width, 1); ++row) {
    const std::size_t place = row / length / heads * length + row % length;  // in [batch, seq]
    const std::size_t angles = (call.has(3) ? position_at(call, place) : place) * half;
    if (angles + half > call.input(1).size()) {
      return call.wrong("has a position beyond its cache");
    }
    for (std::size_t i = 0; i < half; ++i) {
      const std::size_t a = row * width + (interleaved ? 2 * i : i), b = interleaved ? a + 1 : a + half;
      const double cosine = call.input(1).number(angles + i), sine = call.input(2).number(angles + i);
      out.d_mutable()[a] = cosine * x.d()[a] - sine * x.d()[b];
      out.d_mutable()[b] = sine * x.d()[a] + cosine * x.d()[b];
    }
  }
  return std::vector{call.input(0).rank() == 3 ? merge_heads(out) : out};
}

}  // namespace

const OperatorTable& attention_operators() {
  static const OperatorTable kTable = {{"Attention", attention}, {"RotaryEmbedding", rotary_embedding}};
  return kTable;
}

}  // namespace touchstone
