// SPDX-License-Identifier: Apache-2.0
#include "bench/run.h"

#include <fmt/chrono.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "bench/environment.h"
#include "bench/group_runner.h"
#include "bench/helper_process.h"
#include "bench/layout.h"
#include "bench/planned_columns.h"
#include "bench/time_budget.h"
#include "bench/tuned.h"
#include "measure/machine.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// Shapes whose pass is longer than this are not repeated in further launches.
constexpr double kLongestRepeatedPass = 2.0;

class Run {
 public:
  Run(const RunRequest& request, RunObserver& observer, Store store, Bundle bundle)
      : request_(request),
        plan_(request.plan),
        observer_(observer),
        store_(std::move(store)),
        bundle_(std::move(bundle)),
        begin_(Clock::now()) {}

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
  std::optional<Seconds> allowance(std::size_t shape, Pass pass) const;
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
  Clock::time_point begin_;
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

Result<void> Run::set_up() {
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
Result<void> Run::set_up_inputs() {
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

Result<void> Run::set_up_columns(const std::vector<EngineManifest>& catalogue,
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

Result<void> Run::set_up_reference(const std::vector<EngineManifest>& catalogue) {
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

Result<void> Run::set_up_record() {
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

CellRecord Run::blank_cell(std::size_t column, std::size_t shape) const {
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
Result<void> Run::set_up_cells(const std::vector<CellRecord>& earlier) {
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

bool Run::group_waits(std::size_t shape) const {
  return std::any_of(cells_[shape].begin(), cells_[shape].end(), [](const CellRecord& cell) {
    return cell.state == "waiting" || cell.state == "proven";
  });
}

void Run::tell_progress(std::size_t shape) {
  const Seconds elapsed = Clock::now() - begin_;
  Seconds rest = budget_->expected_rest(std::min(shape + 1, shapes_.size()));
  if (plan_.budget) {
    rest = std::min(rest, std::max(Seconds(0), Seconds(*plan_.budget) - elapsed));
  }
  const Seconds here = 8 * budget_->expected_pass(shape);
  rest += here / 2;
  const double by_groups = static_cast<double>(done_groups_) / static_cast<double>(shapes_.size());
  view_.progress = rest.count() > 0 ? elapsed.count() / (elapsed + rest).count() : by_groups;
  if (request_.verify_only) {
    const auto ended = std::count_if(view_.cells.begin(), view_.cells.end(), [](const CellView& cell) {
      return cell.state == CellView::State::kDone || cell.state == CellView::State::kNotAvailable;
    });
    view_.progress = static_cast<double>(ended) / static_cast<double>(view_.cells.size());
  }
  view_.progress =
      std::clamp(view_.progress, 0.0, done_groups_ == shapes_.size() || request_.verify_only ? 1.0 : 0.99);
  view_.remaining = std::chrono::duration_cast<std::chrono::nanoseconds>(rest);
}

void Run::show(std::size_t shape, std::size_t column, const CellView& cell, const std::string& activity) {
  CellView& slot = view_.cells[shape * sessions_.size() + column];
  slot = cell;
  slot.column = column;
  slot.shape = shape;
  slot.provisional_ns = request_.verify_only ? 0 : cell.provisional_ns;
  if (!activity.empty()) {
    view_.activity = activity;
  }
  tell_progress(shape);
  observer_.update(view_);
}

Result<void> Run::close_group(std::size_t shape, const char* reason, const std::string& message) {
  for (std::size_t column = 0; column < sessions_.size(); ++column) {
    CellRecord& cell = cells_[shape][column];
    if (cell.state != "waiting" && cell.state != "proven") {
      continue;
    }
    cell.state = "na";
    cell.reason = reason;
    cell.message = message;
    TOUCHSTONE_TRY(store_.put_cell(cell));
    show(shape, column, view_of(cell), "");
  }
  return {};
}

std::optional<Seconds> Run::allowance(std::size_t shape, Pass pass) const {
  const Seconds elapsed = Clock::now() - begin_;
  if (pass == Pass::kAgain && plan_.budget) {
    return std::max(Seconds(*plan_.budget) - elapsed, Seconds(0));
  }
  return budget_->allowance(shape, elapsed);
}

Result<void> Run::run_group(std::size_t shape, int launch, Pass pass) {
  GroupContext context{plan_,
                       bundle_,
                       store_,
                       record_.id,
                       sessions_,
                       *inputs_,
                       *reference_,
                       phases_,
                       *probe_,
                       last_level_cache_bytes(cpus_.front()),
                       baseline_,
                       [this, shape](std::size_t column, const CellView& cell, const std::string& activity) {
                         show(shape, column, cell, activity);
                       },
                       [this](const std::string& text) { observer_.note(text); }};
  GroupRunner group(std::move(context), shapes_[shape], cells_[shape], launch);
  if (const auto most = allowance(shape, pass); most && *most < budget_->expected_pass(shape)) {
    return close_group(shape, "budget",
                       "the time budget was spent before this shape; --budget gives more, --resume goes on");
  }
  TOUCHSTONE_TRY(group.prove(inputs_->user() == nullptr ? another_length(shapes_, bundle_, shapes_[shape])
                                                        : std::nullopt));
  budget_->observe_pass(shape, group.pass());
  if (request_.verify_only) {
    for (std::size_t column = 0; column < cells_[shape].size(); ++column) {
      TOUCHSTONE_TRY(store_.put_cell(cells_[shape][column]));
      show(shape, column, view_of(cells_[shape][column]), "");
    }
    return {};
  }
  const PrecisionRule rule(plan_.precision_target);
  // What starting and proving took is spent; the rounds get their share of what is left now that their cost
  // is known.
  TOUCHSTONE_TRY(group.measure(allowance(shape, pass), rule));
  if (const auto seen = group.round_time()) {
    budget_->observe_pass(shape, *seen);
  }
  return {};
}

// Launches of one cell differ by more than its rounds do: quick shapes are measured again in fresh processes.
Result<void> Run::further_launches() {
  for (int launch = 1; launch < plan_.launches; ++launch) {
    for (ColumnSession& session : sessions_) {
      session.restart();
    }
    for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
      if (budget_->expected_pass(shape).count() > kLongestRepeatedPass) {
        continue;
      }
      std::vector<CellRecord> first = cells_[shape];
      for (CellRecord& cell : cells_[shape]) {
        cell.state = cell.state == "done" || cell.state == "budget" ? "waiting" : cell.state;
      }
      TOUCHSTONE_TRY(run_group(shape, launch, Pass::kAgain));
      for (std::size_t column = 0; column < first.size(); ++column) {
        // The cell keeps the first launch's numbers; the interval across launches is taken over all.
        TOUCHSTONE_ASSIGN(const Series series, store_.turns(first[column].id));
        fill_estimate(first[column], series, 0);
        TOUCHSTONE_TRY(store_.put_cell(first[column]));
      }
      cells_[shape] = std::move(first);
    }
  }
  return {};
}

// Groups with a disturbed cell are measured once more when all others are done, within the budget.
Result<void> Run::repeat_disturbed() {
  for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
    const bool disturbed = std::any_of(cells_[shape].begin(), cells_[shape].end(),
                                       [](const CellRecord& cell) { return cell.disturbed; });
    // What an earlier process of a resumed run has finished stays as it is.
    if (!disturbed || !measured_.contains(shape)) {
      continue;
    }
    const auto left = allowance(shape, Pass::kAgain);
    if (!left || *left > budget_->expected_group(shape)) {
      TOUCHSTONE_TRY(repeat_group(shape));
    }
  }
  return {};
}

Result<void> Run::repeat_group(std::size_t shape) {
  const std::vector<CellRecord> earlier = cells_[shape];
  TOUCHSTONE_ASSIGN(const std::int64_t last, store_.last_turn());
  for (CellRecord& cell : cells_[shape]) {
    if (cell.state == "done" || cell.state == "budget") {
      cell.state = "waiting";
      cell.disturbed = false;
    }
  }
  const auto outcome = run_group(shape, 0, Pass::kAgain);
  // What was not finished does not replace what was.
  if (!outcome) {
    for (CellRecord cell : earlier) {
      TOUCHSTONE_TRY(store_.set_aside_turns(cell.id, last, std::numeric_limits<std::int64_t>::max(),
                                            "a repeat that was interrupted"));
      TOUCHSTONE_TRY(store_.put_cell(cell));
    }
    cells_[shape] = earlier;
    return outcome;
  }
  for (const CellRecord& cell : earlier) {
    TOUCHSTONE_TRY(store_.set_aside_turns(cell.id, 0, last, "the group was disturbed and measured again"));
  }
  return {};
}

Result<void> Run::run_all() {
  for (std::size_t shape = 0; shape < shapes_.size(); ++shape) {
    if (group_waits(shape)) {
      measured_.insert(shape);
      TOUCHSTONE_TRY(run_group(shape, 0, Pass::kFirst));
    }
    ++done_groups_;
    tell_progress(shape);
  }
  if (request_.verify_only) {
    return {};
  }
  TOUCHSTONE_TRY(repeat_disturbed());
  return further_launches();
}

Result<RunSummary> Run::summarize(bool interrupted) {
  RunSummary summary;
  summary.elapsed = earlier_ + (Clock::now() - begin_);
  summary.phases = {{"reading", phases_.reading},
                    {"proof", phases_.proof},
                    {"compiling", phases_.compiling},
                    {"warm-up", phases_.warm_up},
                    {"samples", phases_.samples}};
  for (const auto& [name, time] : summary.phases) {
    record_.phases_ns[name] += time.count();
  }
  const bool short_of_time = std::any_of(view_.cells.begin(), view_.cells.end(), [](const CellView& cell) {
    return cell.state == CellView::State::kBudget;
  });
  record_.status = interrupted ? "interrupted" : short_of_time ? "budget" : "done";
  record_.elapsed_ns = summary.elapsed.count();
  TOUCHSTONE_TRY(store_.put_run(record_));
  view_.progress = interrupted ? view_.progress : 1;
  view_.remaining.reset();
  view_.activity.clear();
  summary.run_id = record_.id;
  summary.view = view_;
  summary.interrupted = interrupted;
  summary.bundle_hash = bundle_.hash;
  return summary;
}

}  // namespace

Installation find_installation() {
  Installation installation;
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  installation.bin = executable.parent_path().string();
  if (const char* home = std::getenv("TOUCHSTONE_HOME"); home != nullptr && *home != '\0') {
    installation.home = home;
  } else {
    const char* user = std::getenv("HOME");
    installation.home = std::string(user == nullptr ? "/root" : user) + "/.cache/touchstone";
  }
  // Beside the executables in an installed tree; in the sources when run from a build tree.
  const fs::path shared = executable.parent_path().parent_path() / "share/touchstone/engines";
  installation.manifests = fs::exists(shared, error) ? shared.string() : TOUCHSTONE_SOURCE_ENGINES;
  return installation;
}

Result<RunSummary> run_plan(const RunRequest& request, RunObserver& observer) {
  install_interrupt_handler();
  TOUCHSTONE_ASSIGN(const auto described,
                    call_model_helper(request.installation,
                                      {"prepare", request.plan.model, "--home", request.installation.home}));
  TOUCHSTONE_ASSIGN(Bundle bundle, bundle_from_json(described, described.value("folder", "")));
  TOUCHSTONE_ASSIGN(Store store, Store::open_for_writing(request.results));
  Run run(request, observer, std::move(store), std::move(bundle));
  TOUCHSTONE_TRY(run.set_up());
  const auto outcome = run.run_all();
  if (!outcome && outcome.error().reason != Reason::kInterrupted) {
    return tl::unexpected(outcome.error());
  }
  return run.summarize(!outcome.has_value());
}

}  // namespace touchstone
