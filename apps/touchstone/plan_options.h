// SPDX-License-Identifier: Apache-2.0
// The flags from which `run` and `verify` make a plan.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "bench/plan.h"

namespace touchstone {

struct PlanOptions {
  std::string model, preset, profile, plan_file, batch, seq, budget, target, timeout, memory_limit, baseline;
  std::vector<std::string> engines, dims, shape_modes, devices, precisions, options;
  std::vector<int> threads;
  std::optional<std::uint64_t> seed;
  std::optional<int> launches;

  void add_to(CLI::App& command, bool timing);
  /// Flags win over the plan file or the preset. Errors: usage.
  Result<Plan> plan() const;

 private:
  void apply_axes(Plan& plan) const;
};

}  // namespace touchstone
