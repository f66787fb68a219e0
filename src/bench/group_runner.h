// SPDX-License-Identifier: Apache-2.0
// One group of cells: every column at one shape. Proves each, warms it, then takes turns in shuffled rounds.
#pragma once

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/cell_view.h"
#include "bench/column_session.h"
#include "bench/consensus.h"
#include "bench/reference_store.h"
#include "bench/run.h"
#include "measure/machine.h"
#include "measure/sampling.h"
#include "results/store.h"

namespace touchstone {

/// Nanoseconds by phase, for the record.
struct Phases {
  std::chrono::nanoseconds reading{}, proof{}, compiling{}, warm_up{}, samples{};
};

/// Adds the time of a scope to a phase.
class PhaseTimer {
 public:
  explicit PhaseTimer(std::chrono::nanoseconds& phase)
      : phase_(phase), begin_(std::chrono::steady_clock::now()) {}
  ~PhaseTimer() { phase_ += std::chrono::steady_clock::now() - begin_; }
  PhaseTimer(const PhaseTimer&) = delete;
  PhaseTimer& operator=(const PhaseTimer&) = delete;

 private:
  std::chrono::nanoseconds& phase_;
  std::chrono::steady_clock::time_point begin_;
};

/// Whether an error ends the run, not one cell only.
inline bool ends_the_run(const Error& error) {
  return error.reason == Reason::kInterrupted || error.reason == Reason::kStorage;
}

/// What a group needs of the run around it.
struct GroupContext {
  const Plan& plan;
  const Bundle& bundle;
  Store& store;
  std::int64_t run_id;
  std::vector<ColumnSession>& columns;
  const InputSource& inputs;
  ReferenceStore& reference;
  Phases& phases;
  MachineProbe& probe;
  std::uint64_t cache_bytes;
  std::size_t baseline;  // index of the column that races until the last is done
  /// Shows a change to the observer; called between turns only.
  std::function<void(std::size_t column, const CellView& cell, const std::string& activity)> show;
  std::function<void(const std::string& text)> note;
};

class GroupRunner {
 public:
  GroupRunner(GroupContext context, DimensionValues dimensions, std::vector<CellRecord>& cells, int launch)
      : context_(std::move(context)), dimensions_(std::move(dimensions)), cells_(cells), launch_(launch) {}

  /// Proves all cells that are still waiting. `another_length`: also prove at other dimensions, where the
  /// plan itself has one length only. Errors: interrupted, storage; what concerns one cell makes it N/A
  /// instead.
  Result<void> prove(const std::optional<DimensionValues>& another_length);
  /// Rounds until every live cell is done or `allowance` is spent. Errors as above.
  Result<void> measure(std::optional<std::chrono::duration<double>> allowance, const PrecisionRule& rule);
  /// How long one round of the live cells takes, from what was seen so far.
  std::chrono::duration<double> pass() const;
  /// What a round took on average, waiting included; nothing before there was one.
  std::optional<std::chrono::duration<double>> round_time() const { return round_time_; }

 private:
  Result<void> prove_cell(std::size_t column, const std::optional<DimensionValues>& another_length);
  Result<void> prove_steps(std::size_t column, const std::optional<DimensionValues>& another_length,
                           Proof& proof);
  Result<void> prove_at(std::size_t column, const DimensionValues& dimensions, Proof& proof);
  Result<bool> reference_knows(const std::vector<InputBatch>& batches);
  Result<void> keep_outputs(std::size_t column, const std::vector<InputBatch>& batches);
  Result<void> judge_by_consensus();
  Result<void> warm(std::size_t column, std::int64_t most_ns);
  Result<void> turn(std::size_t column, int round);
  Result<void> check_after(std::size_t column);
  Result<void> conclude();
  Result<void> absorb(std::size_t column, const Result<void>& outcome);
  Result<double> probe_machine();
  Result<void> wait_for_quiet(std::size_t column);
  Result<bool> take_turn(std::size_t column, int round, bool may_repeat);
  Result<void> set_aside_late_warmup(std::size_t column);
  bool ratio_known(std::size_t column, const PrecisionRule& rule) const;
  std::vector<std::size_t> shuffled(std::uint64_t a, std::uint64_t b) const;
  bool live(std::size_t column) const;
  void show(std::size_t column, CellView::State state, const std::string& activity);
  std::string where() const;

  GroupContext context_;
  DimensionValues dimensions_;
  std::vector<CellRecord>& cells_;
  int launch_;
  std::vector<Series> series_;
  std::vector<double> latency_ns_;
  std::vector<int> dropped_;
  std::vector<bool> finished_;
  std::vector<Consensus::Outputs> kept_;       // by column, where the reference cannot say
  std::vector<std::optional<Expected>> held_;  // by column: what stands for the reference there
  std::string lacking_;                        // why it cannot
  std::vector<double> probes_;                 // of this group
  std::optional<std::chrono::duration<double>> round_time_;
  std::vector<std::int64_t> last_turns_;  // ids in the store: before the first round, then after each
};

}  // namespace touchstone
