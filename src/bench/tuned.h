// SPDX-License-Identifier: Apache-2.0
// What `touchstone tune` found best for an engine, a model and a machine, kept for `run --tuned`.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/plan.h"
#include "bench/run.h"
#include "engines/catalogue.h"
#include "graph/bundle.h"

namespace touchstone {

struct TunedChoice {
  Column column;        // its variant is `tuned`; the defaults where nothing was better
  std::string version;  // of the engine
  std::string machine;  // processor and number of CPUs
  std::string setting;  // in words: "threads=1, form=source"; empty for the defaults
  double ratio = 1;     // time ÷ the defaults' time, geometric mean over the shapes of its last race
};

/// The processor and how many of its CPUs are used.
std::string machine_words(const std::vector<int>& cpus);

/// Of one model; empty where it was never tuned. Errors: storage.
Result<std::vector<TunedChoice>> read_tuned(const Installation& installation, const Bundle& bundle);
/// Adds `choice`, in place of one for the same engine, conditions and machine. Errors: storage.
Result<void> keep_tuned(const Installation& installation, const Bundle& bundle, const TunedChoice& choice);

/// `columns`, and behind each the tuned one where something was found to be better. `notes` says of the
/// others why they have none. Errors: storage.
Result<std::vector<Column>> with_tuned(const std::vector<Column>& columns, const Installation& installation,
                                       const std::vector<EngineManifest>& catalogue, const Bundle& bundle,
                                       const std::vector<int>& cpus, std::vector<std::string>& notes);

}  // namespace touchstone
