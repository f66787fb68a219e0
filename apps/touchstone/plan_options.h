// SPDX-License-Identifier: Apache-2.0
// The flags from which `run` and `verify` make a plan.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "bench/plan.h"

namespace touchstone {

struct PlanOptions {
  std::string model, preset, profile, plan_file, batch, seq, budget, target, timeout, memory_limit, baseline,
      inputs, expected;
  std::vector<std::string> engines, dims, shape_modes, devices, precisions, options, tolerances, judges;
  std::vector<int> threads;
  std::optional<std::uint64_t> seed;
  std::optional<int> launches;
  std::optional<std::int64_t> items;
  bool generate = false, tuned = false;

  void add_to(CLI::App& command, bool timing);
  /// One plan a model, in the order in which they run. Flags win over the plan file or the preset; a MODEL
  /// beside a preset of several models takes that one's part. Errors: usage.
  Result<std::vector<Plan>> plans() const;

 private:
  Result<std::vector<Plan>> base() const;
  Result<void> apply_dimensions(Plan& plan) const;
  Result<void> apply_limits(Plan& plan) const;
  Result<void> apply_inputs(Plan& plan) const;
  Result<Plan> with_flags(Plan plan) const;
  void apply_axes(Plan& plan) const;
};

}  // namespace touchstone
