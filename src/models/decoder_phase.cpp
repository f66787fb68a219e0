// SPDX-License-Identifier: Apache-2.0
#include "models/decoder_phase.h"

#include <limits>

#include "models/transformer.h"

namespace touchstone {
namespace {

std::string cache_name(const char* prefix, std::int64_t layer, const std::string& which) {
  return prefix + std::to_string(layer) + "." + which;
}

constexpr const char* kPast = "past_key_values.";
constexpr const char* kPresent = "present.";

}  // namespace

DecoderPhase::DecoderPhase(GraphBuilder& b, Phase phase, const CacheShape& shape) : b_(b), phase_(phase) {
  b_.input("input_ids", DataType::kInt64, {"batch", length()});
  if (phase_ == Phase::kWhole) {
    b_.input("attention_mask", DataType::kInt64, {"batch", "seq"});
    return;
  }
  b_.output("logits", DataType::kFloat, {"batch", "1", std::to_string(shape.vocabulary)});
  const std::string heads = std::to_string(shape.heads);
  const std::string size = std::to_string(shape.size);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    for (const char* which : {"key", "value"}) {
      if (phase_ == Phase::kDecode) {
        b_.input(cache_name(kPast, layer, which), DataType::kFloat, {"batch", heads, "past", size});
      }
      b_.output(cache_name(kPresent, layer, which), DataType::kFloat,
                {"batch", heads, phase_ == Phase::kDecode ? "past + 1" : "seq", size});
    }
  }
}

std::string DecoderPhase::positions() {
  if (phase_ != Phase::kDecode) {
    return position_range(b_, "input_ids");
  }
  if (b_.made("positions/past")) {
    return "positions/past";
  }
  // The first token has position 0: the one after `past` others has position `past`.
  const std::string shape = b_.node("Shape", "positions/Shape", {cache_name(kPast, 0, "key")});
  return b_.node("Gather", "positions/past", {shape, b_.constant("axis_2", {2})},
                 {{"axis", {std::int64_t{0}}}});
}

std::string DecoderPhase::mask() {
  switch (phase_) {
    case Phase::kWhole:
      return causal_mask(b_, "input_ids", "attention_mask");
    case Phase::kPrefill:
      return causal_mask(b_, "input_ids");
    case Phase::kDecode:
      break;
  }
  return "";
}

std::string DecoderPhase::remember(std::int64_t layer, const std::string& which, const std::string& made) {
  const std::string present = cache_name(kPresent, layer, which);
  switch (phase_) {
    case Phase::kWhole:
      return made;
    case Phase::kPrefill:
      b_.rename_last_output(present);
      return present;
    case Phase::kDecode:
      break;
  }
  return b_.node("Concat", present, {cache_name(kPast, layer, which), made}, {{"axis", {std::int64_t{2}}}});
}

std::string DecoderPhase::last_token(const std::string& x) {
  if (phase_ != Phase::kPrefill) {
    return x;
  }
  const std::string end = b_.constant("last_token/end", {std::numeric_limits<std::int64_t>::max()});
  return b_.node("Slice", "last_token/Slice",
                 {x, b_.constant("last_token/start", {-1}), end, b_.constant("axis_1", {1})});
}

ZooEntry with_generation(ZooEntry whole, const std::function<ModelDefinition(Form, Phase)>& build) {
  ZooEntry prefill = whole;
  prefill.name += ":prefill";
  prefill.description += ": a prompt";
  prefill.build = [build](Form form) { return build(form, Phase::kPrefill); };
  ZooEntry decode = whole;
  decode.name += ":decode";
  decode.description += ": one token after others";
  decode.stated = {{"batch", 1}, {"past", 64}};
  decode.max_sequence = whole.max_sequence ? std::optional(*whole.max_sequence - 1) : std::nullopt;
  decode.build = [build](Form form) { return build(form, Phase::kDecode); };
  whole.generation = {std::move(prefill), std::move(decode)};
  return whole;
}

}  // namespace touchstone
