// SPDX-License-Identifier: Apache-2.0
// The proof of a group's cells: before anything is timed, and of what the timed inferences left.
#include "bench/group_runner.h"

namespace touchstone {
namespace {

constexpr double kSlowNs = 1e9;  // from here on the timed inputs are proven by their first turn

// The reference lacks what the model needs, or the time or memory for it: that is not the engine's fault.
bool beyond_the_reference(const Error& error) {
  switch (error.reason) {
    case Reason::kUnsupportedOperator:
    case Reason::kUnsupported:
    case Reason::kOutOfMemory:
    case Reason::kTimedOut:
    case Reason::kCrashed:
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<void> GroupRunner::prove(const std::optional<DimensionValues>& another_length) {
  series_.assign(cells_.size(), {});
  latency_ns_.assign(cells_.size(), 0);
  dropped_.assign(cells_.size(), 0);
  finished_.assign(cells_.size(), false);
  kept_.assign(cells_.size(), {});
  held_.assign(cells_.size(), std::nullopt);
  // Where the workers are not there yet, this is the order in which they start, and that makes a difference:
  // shuffled.
  for (const std::size_t column : shuffled(0, static_cast<std::uint64_t>(launch_) + 1)) {
    if (cells_[column].state != "waiting") {
      continue;
    }
    show(column, CellView::State::kProving, fmt::format("proving {} at {}", cells_[column].column, where()));
    TOUCHSTONE_TRY(absorb(column, prove_cell(column, another_length)));
    // Whatever happened, its worker does not run beside the next one.
    TOUCHSTONE_TRY(absorb(column, context_.columns[column].rest()));
    if (live(column)) {
      show(column, CellView::State::kMeasuring, "");
    }
  }
  return judge_by_consensus();
}

Result<void> GroupRunner::prove_cell(std::size_t column,
                                     const std::optional<DimensionValues>& another_length) {
  Proof proof;
  TOUCHSTONE_TRY(prove_steps(column, another_length, proof));
  CellRecord& cell = cells_[column];
  if (!kept_[column].empty()) {
    return {};  // the others' outputs have to be known first
  }
  cell.max_error = proof.max_error;
  cell.cosine = proof.cosine;
  cell.verdict = verdict_text(proof, context_.columns[column].setting().judging, context_.reference.truth());
  if (!proof.equal) {
    return fail(Reason::kWrongResult, "{} at {}: {}", cell.column, where(), proof.message);
  }
  cell.state = "proven";
  return context_.store.put_cell(cell);
}

// Proof at dimensions other than the cell's own; where the reference cannot run there, nothing is shown or
// lost.
Result<void> GroupRunner::prove_at(std::size_t column, const DimensionValues& dimensions, Proof& proof) {
  const InputBatch padded{true, 0, 0};
  const auto expected = context_.reference.get(dimensions, padded);
  if (!expected) {
    return ends_the_run(expected.error()) ? Result<void>(tl::unexpected(expected.error())) : Result<void>();
  }
  ColumnSession& session = context_.columns[column];
  TOUCHSTONE_ASSIGN(const TensorSet inputs, context_.inputs.make(dimensions, padded));
  TOUCHSTONE_TRY(session.prepare(inputs));
  TOUCHSTONE_TRY(session.set_inputs(inputs));
  TOUCHSTONE_TRY(session.infer_and_compare(*expected, proof));
  return {};
}

// Has the reference compute what it does not know yet, while the column's worker is idle; false where it
// cannot.
Result<bool> GroupRunner::reference_knows(const std::vector<InputBatch>& batches) {
  for (const InputBatch& batch : batches) {
    const auto expected = context_.reference.get(dimensions_, batch);
    if (expected) {
      continue;
    }
    if (!beyond_the_reference(expected.error())) {
      return tl::unexpected(expected.error());
    }
    lacking_ = expected.error().message;
    return false;
  }
  return true;
}

Result<void> GroupRunner::keep_outputs(std::size_t column, const std::vector<InputBatch>& batches) {
  ColumnSession& session = context_.columns[column];
  for (const InputBatch& batch : Consensus::of_interest(batches)) {
    TOUCHSTONE_ASSIGN(const TensorSet inputs, context_.inputs.make(dimensions_, batch));
    TOUCHSTONE_TRY(session.set_inputs(inputs));
    TOUCHSTONE_ASSIGN(auto outputs, session.infer_and_keep());
    kept_[column].push_back(std::move(outputs.first));
    latency_ns_[column] = static_cast<double>(outputs.second);
    cells_[column].first_ns = cells_[column].first_ns.value_or(outputs.second);
  }
  return {};
}

Result<void> GroupRunner::prove_steps(std::size_t column,
                                      const std::optional<DimensionValues>& another_length, Proof& proof) {
  ColumnSession& session = context_.columns[column];
  CellRecord& cell = cells_[column];
  {
    const PhaseTimer timer(context_.phases.reading);
    TOUCHSTONE_TRY(session.ensure_loaded());
  }
  cell.load_ns = session.load_ns();
  cell.options = session.options_in_force();
  if (const std::string& form = session.setting().column.form; !form.empty()) {
    cell.options["touchstone.form"] = form;
  }
  cell.version = session.engine_version();
  cell.first_ns.reset();
  const std::vector<InputBatch> batches = context_.inputs.batches(dimensions_);
  TOUCHSTONE_ASSIGN(const TensorSet first, context_.inputs.make(dimensions_, batches.front()));
  bool known = false;
  {
    const PhaseTimer timer(context_.phases.proof);
    TOUCHSTONE_ASSIGN(known, reference_knows(batches));
    if (another_length && known) {
      TOUCHSTONE_TRY(prove_at(column, *another_length, proof));
    }
  }
  {
    const PhaseTimer timer(context_.phases.compiling);
    TOUCHSTONE_ASSIGN(cell.compile_ns, session.prepare(first));
  }
  const PhaseTimer timer(context_.phases.proof);
  if (!known) {
    return keep_outputs(column, batches);
  }
  for (const InputBatch& batch : batches) {
    TOUCHSTONE_ASSIGN(const TensorSet inputs, context_.inputs.make(dimensions_, batch));
    TOUCHSTONE_TRY(session.set_inputs(inputs));
    // Of a slow model the batch that is timed is proven by its first turn.
    if (&batch == &batches.back() && batches.size() > 1 && latency_ns_[column] >= kSlowNs) {
      break;
    }
    TOUCHSTONE_ASSIGN(const Expected expected, context_.reference.get(dimensions_, batch));
    TOUCHSTONE_ASSIGN(const std::int64_t elapsed, session.infer_and_compare(expected, proof));
    latency_ns_[column] = static_cast<double>(elapsed);
    cell.first_ns = cell.first_ns.value_or(elapsed);
  }
  return {};
}

// Where the reference lacks an operator, the engines are held against each other.
Result<void> GroupRunner::judge_by_consensus() {
  Consensus consensus(lacking_);
  for (std::size_t column = 0; column < cells_.size(); ++column) {
    if (!kept_[column].empty() && cells_[column].state == "waiting") {
      consensus.add(column, cells_[column].engine, cells_[column].column,
                    context_.columns[column].setting().judging, kept_[column]);
    }
  }
  for (const Consensus::Opinion& opinion : consensus.judge()) {
    CellRecord& cell = cells_[opinion.column];
    cell.verdict = opinion.verdict;
    cell.max_error = opinion.max_error;
    cell.cosine = opinion.cosine;
    if (!opinion.error) {
      held_[opinion.column] = opinion.truth;
      cell.state = "proven";
      TOUCHSTONE_TRY(context_.store.put_cell(cell));
      show(opinion.column, CellView::State::kMeasuring, "");
      continue;
    }
    TOUCHSTONE_TRY(absorb(opinion.column, fail(opinion.error->reason, "{} at {}: {}", cell.column, where(),
                                               opinion.error->message)));
  }
  kept_.assign(cells_.size(), {});
  return {};
}

// The outputs that the timed inferences left: proof that what was timed was computed.
Result<void> GroupRunner::check_after(std::size_t column) {
  const PhaseTimer timer(context_.phases.proof);
  Expected expected;
  if (held_[column]) {
    expected = *held_[column];
  } else {
    TOUCHSTONE_ASSIGN(expected,
                      context_.reference.get(dimensions_, context_.inputs.batches(dimensions_).back()));
  }
  Proof proof;
  TOUCHSTONE_TRY(context_.columns[column].compare_last(expected, proof));
  TOUCHSTONE_ASSIGN(cells_[column].peak_bytes, context_.columns[column].peak_bytes());
  TOUCHSTONE_TRY(context_.columns[column].rest());
  CellRecord& cell = cells_[column];
  cell.max_error = std::max(cell.max_error.value_or(0), proof.max_error);
  if (!proof.equal) {
    cell.verdict = proof.message;
    cell.median_ns.reset();
    return fail(Reason::kWrongResult, "{} at {}, after timing: {}", cell.column, where(), proof.message);
  }
  return {};
}

}  // namespace touchstone
