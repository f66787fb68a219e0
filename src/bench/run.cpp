// SPDX-License-Identifier: Apache-2.0
#include "bench/run.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include "bench/helper_process.h"
#include "bench/layout.h"
#include "bench/run_session.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

// Shapes whose pass is longer than this are not repeated in further launches.
constexpr double kLongestRepeatedPass = 2.0;

}  // namespace

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

bool RunSession::group_waits(std::size_t shape) const {
  return std::any_of(cells_[shape].begin(), cells_[shape].end(), [](const CellRecord& cell) {
    return cell.state == "waiting" || cell.state == "proven";
  });
}

void RunSession::tell_progress(std::size_t shape) {
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

void RunSession::show(std::size_t shape, std::size_t column, const CellView& cell,
                      const std::string& activity) {
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

Result<void> RunSession::close_group(std::size_t shape, const char* reason, const std::string& message) {
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

std::optional<Seconds> RunSession::allowance(std::size_t shape, Pass pass) const {
  const Seconds elapsed = Clock::now() - begin_;
  if (pass == Pass::kAgain && plan_.budget) {
    return std::max(Seconds(*plan_.budget) - elapsed, Seconds(0));
  }
  return budget_->allowance(shape, elapsed);
}

Result<void> RunSession::run_group(std::size_t shape, int launch, Pass pass) {
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
Result<void> RunSession::further_launches() {
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
Result<void> RunSession::repeat_disturbed() {
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

Result<void> RunSession::repeat_group(std::size_t shape) {
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

Result<void> RunSession::run_all() {
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

Result<RunSummary> RunSession::summarize(bool interrupted) {
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
  RunSession run(request, observer, std::move(store), std::move(bundle));
  TOUCHSTONE_TRY(run.set_up());
  const auto outcome = run.run_all();
  if (!outcome && outcome.error().reason != Reason::kInterrupted) {
    return tl::unexpected(outcome.error());
  }
  return run.summarize(!outcome.has_value());
}

}  // namespace touchstone
