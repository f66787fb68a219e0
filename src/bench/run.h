// SPDX-License-Identifier: Apache-2.0
// Runs a plan: proves every cell, times it in shuffled rounds, stores each round. Progress goes to an
// observer, between turns only, so that the driver is still while a worker is measured.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/plan.h"

namespace touchstone {

/// Where things lie on this machine.
struct Installation {
  std::string home;       // SDKs, bundles, references: $TOUCHSTONE_HOME or ~/.cache/touchstone
  std::string bin;        // folder of the executables: touchstone-model, touchstone-worker-*
  std::string manifests;  // folder of engines/NAME/manifest.toml
};

/// Found from the running executable's place (build tree or installed tree) and the environment.
Installation find_installation();

/// What a person sees of one cell while and after it is measured.
struct CellView {
  std::size_t column = 0;  // into RunView::columns
  std::size_t shape = 0;   // into RunView::shapes
  enum class State { kWaiting, kProving, kMeasuring, kDone, kBudget, kNotAvailable } state = State::kWaiting;
  double provisional_ns = 0;  // one inference of the proof: something to show until there are rounds
  double median_ns = 0;       // 0: no number yet
  double half_width = 0;      // half-width of the 95 % interval ÷ median
  double low_ns = 0, high_ns = 0;
  double max_error = 0;  // largest scaled difference from the reference
  std::size_t rounds = 0, samples = 0;
  bool disturbed = false;
  std::optional<Error> error;  // N/A: why
};

struct RunView {
  std::string model;
  std::vector<std::string> columns;     // labels
  std::vector<DimensionValues> shapes;  // in the order in which they run
  std::vector<CellView> cells;          // column-major within a shape: cells[shape * columns + column]
  std::string activity;                 // "proving openvino at 1×8", "round 3 of 1×8"
  double progress = 0;                  // 0…1
  std::optional<std::chrono::nanoseconds> remaining;  // estimate of the time left
};

class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// Called between turns whenever something a person would want to see has changed.
  virtual void update(const RunView& view) = 0;
  /// A sentence for the log under the table: a column that is N/A from the start, a disturbed cell, a
  /// shortened run.
  virtual void note(const std::string& text) = 0;
};

struct RunRequest {
  Plan plan;
  Installation installation;
  std::string results;  // path of the SQLite file
  bool resume = false;
  bool several = false;      // one of several plans: with `resume`, one that was not begun yet is begun
  bool verify_only = false;  // prove, do not time
  std::map<std::string, Error> refused;      // column label -> why it must not even be tried
  std::map<std::string, std::string> facts;  // what else the record should say of this run
};

struct RunSummary {
  std::int64_t run_id = 0;
  RunView view;
  bool interrupted = false;
  std::string bundle_hash;
  std::chrono::nanoseconds elapsed{};
  std::vector<std::pair<std::string, std::chrono::nanoseconds>>
      phases;  // reading, proof, compiling, warm-up, samples
};

/// Runs until done, out of budget, or interrupted (SIGINT or SIGTERM: what is done is kept, `interrupted` is
/// set). Errors: usage (unknown engine or dimension, missing dimension values), invalid-model, storage. An
/// N/A cell is no error.
Result<RunSummary> run_plan(const RunRequest& request, RunObserver& observer);

/// What touchstone-model said of a model: bundle.json as text, with "folder".
/// Errors: invalid-model and the rest of what it reports.
Result<std::string> prepare_model(const Installation& installation, const std::string& model);

}  // namespace touchstone
