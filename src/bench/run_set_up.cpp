// SPDX-License-Identifier: Apache-2.0
// Everything that a run needs before its first group: inputs, columns, the reference, the record.
#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "base/hash.h"
#include "base/text.h"
#include "bench/environment.h"
#include "bench/layout.h"
#include "bench/planned_columns.h"
#include "bench/run_session.h"
#include "bench/tuned.h"

namespace touchstone {

using Seconds = std::chrono::duration<double>;

Result<void> RunSession::set_up() {
  TOUCHSTONE_ASSIGN(const auto catalogue, read_catalogue(request_.installation.manifests));
  TOUCHSTONE_ASSIGN(auto columns, layout_columns(plan_, catalogue));
  TOUCHSTONE_TRY(set_up_inputs());
  TOUCHSTONE_ASSIGN(shapes_, layout_shapes(plan_, bundle_, inputs_->user()));
  TOUCHSTONE_ASSIGN(cpus_, cpus_for(columns));
  if (plan_.tuned) {
    std::vector<std::string> notes;
    TOUCHSTONE_ASSIGN(columns, with_tuned(columns, request_.installation, catalogue, bundle_, cpus_, notes));
    for (const std::string& note : notes) {
      observer_.note(note);
    }
    tuned_ = fmt::format("{}", fmt::join(notes, "; "));
  }
  probe_.emplace(cpus_);
  for (std::size_t i = 0; i < MachineProbe::kFewestRuns; ++i) {
    probe_->run();
  }
  TOUCHSTONE_TRY(set_up_columns(catalogue, columns));
  TOUCHSTONE_TRY(set_up_reference(catalogue));
  std::vector<double> sizes;
  for (const DimensionValues& shape : shapes_) {
    sizes.push_back(shape_size(shape));
  }
  budget_ = std::make_unique<TimeBudget>(sizes,
                                         plan_.budget ? std::optional<Seconds>(*plan_.budget) : std::nullopt);
  return set_up_record();
}

// What cannot be made up has to come from the user.
Result<void> RunSession::set_up_inputs() {
  std::shared_ptr<const UserInputs> user;
  if (!plan_.inputs.empty()) {
    TOUCHSTONE_ASSIGN(user, UserInputs::read(request_.installation, bundle_, plan_.inputs, plan_.expected));
    for (const std::string& note : user->notes()) {
      observer_.note(note);
    }
  } else if (!plan_.expected.empty()) {
    return fail(Reason::kUsage, "--expected goes with --inputs: outputs are those of certain inputs");
  }
  std::string unknown;
  for (std::size_t i = 0; i < bundle_.inputs.size(); ++i) {
    const InputRule& rule = bundle_.inputs[i];
    const bool given = user && user->fills(i);
    if (!given && rule.kind == InputRule::Kind::kUnknown) {
      unknown += fmt::format("{}'{}' is {}", unknown.empty() ? "" : ", ", rule.name, rule.why);
    } else if (!given && user) {
      observer_.note(fmt::format("{} has no '{}': it is made up ({})", plan_.inputs, rule.name, rule.why));
    }
  }
  if (!unknown.empty()) {
    return fail(Reason::kUsage, "what cannot be made up: input {}; give its values with --inputs FILE.npz",
                unknown);
  }
  inputs_ = std::make_unique<InputSource>(bundle_, plan_.seed, std::move(user));
  return {};
}

Result<void> RunSession::set_up_columns(const std::vector<EngineManifest>& catalogue,
                                        const std::vector<Column>& columns) {
  TOUCHSTONE_ASSIGN(auto planned,
                    planned_columns(plan_, request_.installation, bundle_, catalogue, columns, cpus_));
  for (PlannedColumn& column : planned) {
    const std::string& label = column.setting.label;
    if (const auto refused = request_.refused.find(label); refused != request_.refused.end()) {
      column.missing = refused->second;
    }
    if (column.missing) {
      observer_.note(fmt::format("{}: {}", label, column.missing->message));
    }
    view_.columns.push_back(label);
    missing_.push_back(std::move(column.missing));
    sessions_.emplace_back(std::move(column.setting), watch_);
  }
  if (!plan_.baseline.empty()) {
    const auto found = std::find(view_.columns.begin(), view_.columns.end(), plan_.baseline);
    if (found == view_.columns.end()) {
      return fail(Reason::kUsage, "--baseline: there is no column '{}'{}; columns: {}", plan_.baseline,
                  did_you_mean(plan_.baseline, view_.columns), fmt::join(view_.columns, ", "));
    }
    baseline_ = static_cast<std::size_t>(found - view_.columns.begin());
  } else {
    // The first column that can run at all.
    const auto able = std::find(missing_.begin(), missing_.end(), std::nullopt);
    baseline_ = able == missing_.end() ? 0 : static_cast<std::size_t>(able - missing_.begin());
  }
  return {};
}

Result<void> RunSession::set_up_reference(const std::vector<EngineManifest>& catalogue) {
  TOUCHSTONE_ASSIGN(const ResolvedEngine engine, reference_engine(request_.installation, catalogue, cpus_));
  ReferenceStore::Setting setting;
  setting.bundle = bundle_;
  setting.folder = request_.installation.home + "/references";
  setting.threads = static_cast<int>(cpus_.size());
  setting.launch = reference_launch(plan_, request_.installation, engine, cpus_);
  if (const auto batch = batch_dimension(bundle_)) {
    for (const DimensionValues& shape : shapes_) {
      setting.largest_batch = std::max(setting.largest_batch, shape.at(*batch));
    }
  }
  reference_ = std::make_unique<ReferenceStore>(std::move(setting), *inputs_, watch_);
  return {};
}

Result<void> RunSession::set_up_record() {
  record_.kind = request_.verify_only ? "verify" : "run";
  record_.created = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  record_.model = bundle_.name;
  record_.bundle = bundle_.hash;
  record_.plan = canonical_plan(plan_);
  const UserInputs* user = inputs_->user();
  record_.plan_hash =
      sha256(record_.plan + tuned_ + bundle_.hash + record_.kind + (user == nullptr ? "" : user->hash()));
  record_.baseline = view_.columns[baseline_];
  record_.version = "0.1.0";
  record_.status = "running";
  record_.precision_target = plan_.precision_target;
  record_.seed = plan_.seed;
  std::vector<CellRecord> earlier;
  if (request_.resume) {
    TOUCHSTONE_ASSIGN(const auto runs, store_.runs());
    const auto same = std::find_if(runs.rbegin(), runs.rend(),
                                   [&](const RunRecord& run) { return run.plan_hash == record_.plan_hash; });
    if (same == runs.rend() && !request_.several) {
      return fail(Reason::kUsage,
                  "--resume: {} holds no run of this plan on this model; run it without --resume",
                  store_.path());
    }
    if (same != runs.rend()) {
      record_.id = same->id;
      record_.phases_ns = same->phases_ns;
      earlier_ = std::chrono::nanoseconds(same->elapsed_ns);
      TOUCHSTONE_ASSIGN(earlier, store_.cells(same->id));
    }
  }
  TOUCHSTONE_TRY(store_.begin());
  TOUCHSTONE_TRY(store_.put_run(record_));
  auto facts = describe_machine(cpus_);
  facts.insert(request_.facts.begin(), request_.facts.end());
  for (const ColumnSession& session : sessions_) {
    facts["worker.command." + session.setting().label] =
        fmt::format("{}", fmt::join(session.setting().engine.command, " "));
  }
  if (plan_.tuned) {
    facts["tuned"] = tuned_;
  }
  if (user != nullptr) {
    facts["inputs"] = fmt::format("{} (sha256 of the data: {})", plan_.inputs, user->hash());
  }
  TOUCHSTONE_TRY(store_.put_environment(record_.id, facts));
  TOUCHSTONE_TRY(set_up_cells(earlier));
  return store_.commit();
}

CellRecord RunSession::blank_cell(std::size_t column, std::size_t shape) const {
  const ColumnSession::Setting& setting = sessions_[column].setting();
  CellRecord cell;
  cell.run = record_.id;
  cell.column = setting.label;
  cell.engine = setting.column.engine.engine;
  cell.version = setting.engine.version;
  cell.mode = setting.engine.mode;
  cell.device = setting.column.device;
  cell.precision = setting.column.precision;
  cell.shape_mode = setting.column.shape_mode;
  cell.threads = setting.threads;
  cell.options = setting.column.options;
  cell.dimensions = shapes_[shape];
  cell.state = "waiting";
  if (const auto batch = batch_dimension(bundle_)) {
    cell.batch = shapes_[shape].at(*batch);
  }
  if (const auto sequence = sequence_dimension(bundle_)) {
    cell.sequence = shapes_[shape].at(*sequence);
  }
  const auto not_available = [&](Reason reason, std::string message) {
    cell.state = "na";
    cell.reason = to_string(reason);
    cell.message = std::move(message);
  };
  if (missing_[column]) {
    not_available(missing_[column]->reason, missing_[column]->message);
  } else if (bundle_.max_sequence && cell.sequence > *bundle_.max_sequence) {
    not_available(Reason::kSequenceTooLong, fmt::format("{} knows {} positions, {} were asked for",
                                                        bundle_.name, *bundle_.max_sequence, cell.sequence));
  }
  return cell;
}

// Cells of an earlier process of this run stand as they are where they are finished; the others are measured
// anew.
Result<void> RunSession::set_up_cells(const std::vector<CellRecord>& earlier) {
  view_.shapes = shapes_;
  view_.model = bundle_.name;
  for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
    cells_.emplace_back();
    for (std::size_t column = 0; column < sessions_.size(); ++column) {
      CellRecord cell = blank_cell(column, shape);
      const auto known = std::find_if(earlier.begin(), earlier.end(), [&](const CellRecord& other) {
        return other.column == cell.column && other.dimensions == cell.dimensions;
      });
      if (known != earlier.end()) {
        const bool finished = known->state == "done" || known->state == "budget" ||
                              (known->state == "na" && known->reason != to_string(Reason::kBudget) &&
                               known->reason != to_string(Reason::kEngineMissing));
        if (finished) {
          cell = *known;
        }
        cell.id = known->id;
        if (!finished) {
          TOUCHSTONE_TRY(store_.set_aside_turns(cell.id, 0, std::numeric_limits<std::int64_t>::max(),
                                                "before an interruption; measured anew"));
        }
      }
      TOUCHSTONE_TRY(store_.put_cell(cell));
      CellView view = view_of(cell);
      view.column = column;
      view.shape = shape;
      view_.cells.push_back(view);
      cells_.back().push_back(std::move(cell));
    }
  }
  return {};
}

}  // namespace touchstone
