// SPDX-License-Identifier: Apache-2.0
// What the transformers of the zoo have in common.
#pragma once

#include <string>
#include <vector>

#include "models/builder.h"

namespace touchstone {

class DecoderPhase;

/// The spread of biases and LayerNorm gains, where the architectures start them at 0 and 1: with those, a
/// lost bias or gain could not be seen.
inline constexpr float kBiasDeviation = 0.02F;

/// The length of dimension 1 of `ids`, as a scalar int64 (made once, as are the positions).
std::string sequence_length(GraphBuilder& b, const std::string& ids);
/// 0 … seq-1, int64 [seq].
std::string position_range(GraphBuilder& b, const std::string& ids);

/// (1 - mask)·lowest for a mask of 0 and 1, [batch, seq] -> [batch, 1, 1, seq]; added to the scores.
std::string padding_mask(GraphBuilder& b, const std::string& mask);
/// 0 where a position may look (not later than itself, `mask` 1), the lowest float elsewhere: [batch, 1, seq,
/// seq].
std::string causal_mask(GraphBuilder& b, const std::string& ids, const std::string& mask);
/// The same without padding: [seq, seq].
std::string causal_mask(GraphBuilder& b, const std::string& ids);

/// [batch, seq, heads·size] -> [batch, seq, heads, size], transposed by `permutation`.
std::string split_heads(GraphBuilder& b, const std::string& scope, const std::string& x, std::int64_t heads,
                        std::int64_t size, std::vector<std::int64_t> permutation);
/// [batch, heads, seq, size] -> [batch, seq, width].
std::string merge_heads(GraphBuilder& b, const std::string& scope, const std::string& x, std::int64_t width);

/// Names and sizes of a self-attention whose projections are linear layers of their own.
struct SelfAttention {
  std::string scope;              // of the nodes between the projections
  std::string query, key, value;  // scopes of the projections
  std::int64_t width;             // of the model and of all heads together
  std::int64_t heads;
  float deviation;  // of the projections' weights
};

/// The heads' outputs side by side, before the output projection: [batch, seq, width].
std::string self_attention(GraphBuilder& b, const SelfAttention& a, const std::string& x,
                           const std::string& mask);

/// Query, key and value from one projection, `scope`.c_attn, as in GPT and GPT-2.
struct JointAttention {
  std::string scope;
  std::int64_t width;
  std::int64_t heads;
  float deviation;
  DecoderPhase* phase = nullptr;  // where keys and values are handed on
  std::int64_t layer = 0;         // whose they are
};

/// The heads' outputs side by side, before the output projection: [batch, seq, width].
std::string joint_attention(GraphBuilder& b, const JointAttention& a, const std::string& x,
                            const std::string& mask);

/// `name`: the sines, then the cosines of position × frequency, [positions, width] (Vaswani et al., 2017).
void sinusoids(GraphBuilder& b, const std::string& name, const std::string& positions, std::int64_t width);

/// `name`/Cos and `name`/Sin of position × frequency, [seq, size]; both halves of a head turn by the same
/// angles (Su et al., 2021, in Hugging Face's layout).
void rotary_angles(GraphBuilder& b, const std::string& name, const std::string& positions, std::int64_t size,
                   float theta);
/// x·cos + (-second half, first half)·sin on [batch, heads, seq, size], with the angles `name`.
std::string rotate_halves(GraphBuilder& b, const std::string& scope, const std::string& x,
                          const std::string& name, std::int64_t size);

/// A table of `rows` × `width`, read by `ids`.
std::string embedding(GraphBuilder& b, const std::string& weight, const std::string& node,
                      const std::string& ids, std::int64_t rows, std::int64_t width, float deviation);

}  // namespace touchstone
