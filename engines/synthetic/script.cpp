// SPDX-License-Identifier: Apache-2.0
#include "script.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace touchstone {
namespace {

const std::vector<std::string> kLaws = {"constant", "normal", "lognormal", "bimodal",
                                        "drift",    "ramp",   "step"};
const std::vector<std::string> kFaults = {"",        "segv", "abort", "exit", "hang", "allocate", "leak",
                                          "garbage", "fail", "wrong", "nan",  "fork", "stdout",   "thread"};

Result<double> number(const Options& options, const std::string& key, double fallback) {
  const auto found = options.find(key);
  if (found == options.end()) {
    return fallback;
  }
  double value = 0;
  const std::string& text = found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail(Reason::kUsage, "synthetic: option {}={} is not a number", key, text);
  }
  return value;
}

std::string word(const Options& options, const std::string& key, const std::string& fallback) {
  const auto found = options.find(key);
  return found == options.end() ? fallback : found->second;
}

Result<void> check_known(const std::string& what, const std::string& value,
                         const std::vector<std::string>& known) {
  for (const std::string& one : known) {
    if (one == value) {
      return {};
    }
  }
  return fail(Reason::kUsage, "synthetic: there is no {} '{}'{}", what, value, did_you_mean(value, known));
}

}  // namespace

Result<LatencyScript> LatencyScript::from(const Options& options) {
  LatencyScript script;
  script.law_ = word(options, "law", "constant");
  TOUCHSTONE_TRY(check_known("law", script.law_, kLaws));
  TOUCHSTONE_ASSIGN(script.base_ns_, number(options, "latency_us", 1000));
  script.base_ns_ *= 1e3;
  TOUCHSTONE_ASSIGN(script.spread_, number(options, "spread", 0.02));
  TOUCHSTONE_ASSIGN(const double seed, number(options, "seed", 1));
  script.generator_.seed(static_cast<std::uint64_t>(seed));
  script.spin_ = word(options, "wait", "spin") == "spin";
  return script;
}

double LatencyScript::next() {
  const auto call = static_cast<double>(calls_++);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  if (law_ == "normal") {
    return base_ns_ * std::max(0.01, 1 + spread_ * normal(generator_));
  }
  if (law_ == "lognormal") {
    return base_ns_ * std::exp(spread_ * normal(generator_));
  }
  if (law_ == "bimodal") {  // one in five takes half as long again
    const double mode = uniform(generator_) < 0.2 ? 1.5 : 1.0;
    return base_ns_ * mode * (1 + spread_ * normal(generator_));
  }
  if (law_ == "drift") {
    return base_ns_ * (1 + spread_ * call / 1000);
  }
  if (law_ == "ramp") {  // warm-up: five times as slow at first, decaying over some tens of calls
    return base_ns_ * (1 + 4 * std::exp(-call / 10)) * (1 + spread_ * normal(generator_));
  }
  if (law_ == "step") {  // a compiler that comes late: half the time from the 40th call on
    return base_ns_ * (call < 40 ? 2 : 1) * (1 + spread_ * normal(generator_));
  }
  return base_ns_;
}

Result<FaultScript> FaultScript::from(const Options& options) {
  FaultScript fault;
  fault.kind = word(options, "fault", "");
  TOUCHSTONE_TRY(check_known("fault", fault.kind, kFaults));
  fault.stage = word(options, "stage", "infer");
  TOUCHSTONE_TRY(check_known("stage", fault.stage, {"load", "prepare", "infer"}));
  TOUCHSTONE_ASSIGN(const double call, number(options, "call", 1));
  fault.call = static_cast<std::int64_t>(call);
  TOUCHSTONE_ASSIGN(const double bytes, number(options, "bytes", 0));
  fault.bytes = static_cast<std::uint64_t>(bytes);
  return fault;
}

}  // namespace touchstone
