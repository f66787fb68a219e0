// SPDX-License-Identifier: Apache-2.0
// A bare loop over ATen: BERT-base written out by hand, op by op, with random weights: BATCH SEQ THREADS.
#include <ATen/Parallel.h>
#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <cstdlib>
#include <limits>

#include "bare.h"

namespace {

using at::Tensor;

struct Linear {
  Tensor weight, bias;
  Linear(std::int64_t in, std::int64_t out)
      : weight(at::mul(at::randn({out, in}), 0.02)), bias(at::mul(at::randn({out}), 0.02)) {}
  Tensor operator()(const Tensor& x) const { return at::linear(x, weight, bias); }
};

struct Norm {
  Tensor gain = at::ones({768}), bias = at::zeros({768});
  Tensor operator()(const Tensor& x) const { return at::layer_norm(x, {768}, gain, bias, 1e-12); }
};

struct Layer {
  Linear q{768, 768}, k{768, 768}, v{768, 768}, o{768, 768}, up{768, 3072}, down{3072, 768};
  Norm first, second;
  static Tensor heads(const Tensor& x) { return x.reshape({x.size(0), x.size(1), 12, 64}).transpose(1, 2); }
  Tensor operator()(const Tensor& x, const Tensor& mask) const {
    const Tensor context = at::scaled_dot_product_attention(heads(q(x)), heads(k(x)), heads(v(x)), mask);
    const Tensor merged = context.transpose(1, 2).reshape({x.size(0), x.size(1), 768});
    const Tensor y = first(at::add(o(merged), x));
    return second(at::add(down(at::gelu(up(y))), y));
  }
};

}  // namespace

int main(int, char** argv) {
  at::set_num_threads(std::atoi(argv[3]));
  const c10::InferenceMode guard;
  const std::int64_t batch = std::atoll(argv[1]);
  const std::int64_t seq = std::atoll(argv[2]);
  const Tensor words = at::randn({21128, 768});
  const Tensor positions = at::randn({512, 768});
  const Tensor types = at::randn({2, 768});
  const std::vector<Layer> layers(12);
  const Linear pooler(768, 768);
  const Norm norm;
  const Tensor ids = at::full({batch, seq}, 7, at::kLong);
  const Tensor mask = at::ones({batch, seq}, at::kLong);
  const Tensor kinds = at::zeros({batch, seq}, at::kLong);
  return serve_bare_loop([&] {
    const Tensor where = at::arange(seq, at::kLong).unsqueeze(0);
    Tensor x = norm(at::add(at::add(at::embedding(words, ids), at::embedding(types, kinds)),
                            at::embedding(positions, where)));
    const Tensor wide = mask.unsqueeze(1).unsqueeze(2).to(at::kFloat);
    const Tensor added = at::mul(at::rsub(wide, 1.0), std::numeric_limits<float>::lowest());
    for (const Layer& layer : layers) {
      x = layer(x, added);
    }
    const Tensor pooled = at::tanh(pooler(x.select(1, 0)));
  });
}
