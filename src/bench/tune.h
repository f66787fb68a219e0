// SPDX-License-Identifier: Apache-2.0
// The best settings of each engine for a model, found by racing them against the engine's defaults.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/run.h"
#include "bench/tuned.h"

namespace touchstone {

/// What became of one setting in a race against the defaults.
struct TriedSetting {
  std::string setting;  // "threads=1"
  double ratio = 1;     // time ÷ the defaults' time, geometric mean over the shapes
  /// `faster` somewhere and slower nowhere, `slower` somewhere, `same`, or why it has no times.
  std::string outcome;
};

struct ColumnTuning {
  std::string column;               // label of the defaults
  std::vector<TriedSetting> tried;  // each alone
  std::vector<TriedSetting> last;   // the best ones, and all together, raced anew
  TunedChoice choice;
  std::optional<Error> error;  // why this column could not be tuned
};

/// Races, for every column of the plan, the engine's defaults against each setting that its manifest names,
/// other forms of the model and fewer threads; then the best, and the best of each kind together, against the
/// defaults anew. What is faster at some shape of the plan and slower at none in that second race is kept,
/// else the defaults. All races are runs of the results file. Errors: as of run_plan; interrupted.
Result<std::vector<ColumnTuning>> tune(const RunRequest& request, RunObserver& observer);

}  // namespace touchstone
