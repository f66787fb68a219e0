// SPDX-License-Identifier: Apache-2.0
// What lies behind run_plan: set up once, then group after group.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/group_runner.h"
#include "bench/run.h"
#include "bench/time_budget.h"
#include "measure/machine.h"

namespace touchstone {

/// One run of a plan, from its inputs and workers to the last row of its results.
class RunSession {
 public:
  RunSession(const RunRequest& request, RunObserver& observer, Store store, Bundle bundle)
      : request_(request),
        plan_(request.plan),
        observer_(observer),
        store_(std::move(store)),
        bundle_(std::move(bundle)),
        begin_(std::chrono::steady_clock::now()) {}

  Result<void> set_up();
  Result<void> run_all();
  Result<RunSummary> summarize(bool interrupted);

 private:
  Result<void> set_up_inputs();
  Result<void> set_up_columns(const std::vector<EngineManifest>& catalogue,
                              const std::vector<Column>& columns);
  Result<void> set_up_reference(const std::vector<EngineManifest>& catalogue);
  Result<void> set_up_record();
  Result<void> set_up_cells(const std::vector<CellRecord>& earlier);
  enum class Pass { kFirst, kAgain };  // only the first keeps time for the groups after it
  Result<void> run_group(std::size_t shape, int launch, Pass pass);
  std::optional<std::chrono::duration<double>> allowance(std::size_t shape, Pass pass) const;
  Result<void> repeat_disturbed();
  Result<void> repeat_group(std::size_t shape);
  Result<void> close_group(std::size_t shape, const char* reason, const std::string& message);
  Result<void> further_launches();
  CellRecord blank_cell(std::size_t column, std::size_t shape) const;
  bool group_waits(std::size_t shape) const;
  void show(std::size_t shape, std::size_t column, const CellView& cell, const std::string& activity);
  void tell_progress(std::size_t shape);

  const RunRequest& request_;
  const Plan& plan_;
  RunObserver& observer_;
  Store store_;
  Bundle bundle_;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::nanoseconds earlier_{};  // spent before this process, when resumed
  RunRecord record_;
  RunView view_;
  std::vector<int> cpus_;
  MemoryWatch watch_;
  std::vector<ColumnSession> sessions_;
  std::vector<std::optional<Error>> missing_;  // by column: why it cannot run at all
  std::vector<DimensionValues> shapes_;
  std::vector<std::vector<CellRecord>> cells_;  // by shape, then column
  std::string tuned_;                           // what `--tuned` added, in words
  std::unique_ptr<InputSource> inputs_;
  std::unique_ptr<ReferenceStore> reference_;
  std::unique_ptr<TimeBudget> budget_;
  std::set<std::size_t> measured_;  // shapes, by this process
  std::optional<MachineProbe> probe_;
  Phases phases_;
  std::size_t baseline_ = 0;
  std::size_t done_groups_ = 0;
};

}  // namespace touchstone
