// SPDX-License-Identifier: Apache-2.0
// A decoder that generates text runs as two graphs: one reads the whole prompt, the other one token after it,
// with the keys and values of all earlier ones handed from inference to inference.
#pragma once

#include <string>

#include "models/builder.h"
#include "models/zoo.h"

namespace touchstone {

enum class Phase {
  kWhole,    // every position at once, padding masked, no cache
  kPrefill,  // the prompt, without padding: logits of its last token, keys and values of all
  kDecode,   // one token after `past` earlier ones
};

/// What the keys and values of a decoder look like, and its logits.
struct CacheShape {
  std::int64_t layers, heads, size;  // heads of keys and values, which may be fewer than the queries'
  std::int64_t vocabulary;
};

/// What the phases of a decoder differ in. Inputs and outputs have the names of Hugging Face's exports:
/// `past_key_values.LAYER.key` [batch, heads, past, size] and `present.LAYER.key`, which is the past of the
/// next token.
class DecoderPhase {
 public:
  /// Declares the graph's inputs, and in the phases of generation its outputs.
  DecoderPhase(GraphBuilder& b, Phase phase, const CacheShape& shape);

  bool generates() const { return phase_ != Phase::kWhole; }
  /// What stands for the length in the shapes of activations: "seq", or "1" of a single token.
  std::string length() const { return phase_ == Phase::kDecode ? "1" : "seq"; }
  /// The positions of the tokens, int64 [seq] or [1].
  std::string positions();
  /// What is added to the scores; empty where every position may be looked at.
  std::string mask();
  /// To be called right after the node that made the keys (`which` is "key") or values of `layer`, [batch,
  /// heads, seq, size]; returns those of all positions up to now.
  std::string remember(std::int64_t layer, const std::string& which, const std::string& made);
  /// The activations that logits are made of: in generation those of the last token only.
  std::string last_token(const std::string& x);

 private:
  GraphBuilder& b_;
  Phase phase_;
};

/// `whole` with its two graphs of generation beside it, `NAME:prefill` and `NAME:decode`.
ZooEntry with_generation(ZooEntry whole, const std::function<ModelDefinition(Form, Phase)>& build);

}  // namespace touchstone
