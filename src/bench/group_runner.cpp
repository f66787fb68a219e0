// SPDX-License-Identifier: Apache-2.0
#include "bench/group_runner.h"

#include <algorithm>
#include <numeric>
#include <thread>

#include "base/text.h"
#include "measure/machine.h"

namespace touchstone {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::int64_t kWarmNs = 1'000'000'000;  // the cap on warm-up beyond the proof
constexpr double kWarmShare = 0.05;              // of the group's time, for each column
constexpr std::size_t kWarmCount = 300;
constexpr int kMostDrops = 6;           // repeats of disturbed turns in one cell
constexpr double kMachineSlower = 1.5;  // the group's median probe against the run's best tenth
constexpr std::chrono::milliseconds kLongestWait(500);
constexpr std::chrono::milliseconds kBetweenProbes(20);

std::uint64_t mix(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  return (seed * 0x9E3779B97F4A7C15ULL) ^ (a * 0xBF58476D1CE4E5B9ULL) ^ (b * 0x94D049BB133111EBULL);
}

}  // namespace

// The columns in an order that the plan's seed and these two numbers make.
std::vector<std::size_t> GroupRunner::shuffled(std::uint64_t a, std::uint64_t b) const {
  std::vector<std::size_t> order(cells_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::mt19937_64 generator(mix(context_.plan.seed, a, b));
  std::shuffle(order.begin(), order.end(), generator);
  return order;
}

bool GroupRunner::live(std::size_t column) const {
  return cells_[column].state == "proven";
}

std::string GroupRunner::where() const {
  std::vector<std::string> parts;
  for (const std::string& name : context_.bundle.dimensions) {
    parts.push_back(std::to_string(dimensions_.at(name)));
  }
  return fmt::format("{}", fmt::join(parts, "×"));
}

void GroupRunner::show(std::size_t column, CellView::State state, const std::string& activity) {
  CellView view = view_of(cells_[column]);
  if (view.state == CellView::State::kWaiting || live(column)) {
    view.state = state;
  }
  view.provisional_ns = live(column) ? latency_ns_[column] : 0;
  context_.show(column, view, activity);
}

// What went wrong in one cell makes it N/A; what concerns the run goes up.
Result<void> GroupRunner::absorb(std::size_t column, const Result<void>& outcome) {
  if (outcome) {
    return {};
  }
  if (ends_the_run(outcome.error())) {
    return outcome;
  }
  CellRecord& cell = cells_[column];
  cell.state = "na";
  // What was timed before the failure does not stand for the cell; its turns are kept.
  cell.median_ns = cell.low_ns = cell.high_ns = cell.across_low_ns = cell.across_high_ns = std::nullopt;
  cell.p90_ns = cell.p99_ns = cell.minimum_ns = std::nullopt;
  cell.reason = to_string(outcome.error().reason);
  cell.message = outcome.error().message;
  TOUCHSTONE_TRY(context_.store.put_cell(cell));
  show(column, CellView::State::kNotAvailable, "");
  return {};
}

Seconds GroupRunner::pass() const {
  double total = 0;
  for (std::size_t column = 0; column < cells_.size(); ++column) {
    if (live(column)) {
      const TurnPlan plan = plan_turn(latency_ns_[column], context_.cache_bytes);
      const double samples = latency_ns_[column] * static_cast<double>(plan.min_count * plan.inner);
      total += latency_ns_[column] * static_cast<double>(plan.warm_count) +
               std::max(samples, static_cast<double>(plan.min_ns));
    }
  }
  return Seconds(total / 1e9);
}

// Untimed inferences until the times have settled; the proof's inferences were the first.
Result<void> GroupRunner::warm(std::size_t column, std::int64_t most_ns) {
  const PhaseTimer timer(context_.phases.warm_up);
  WarmupDetector detector(most_ns, kWarmCount);
  if (latency_ns_[column] >= static_cast<double>(most_ns)) {
    return {};
  }
  while (!detector.settled()) {
    MeasureRequest request;
    request.min_count = 1;
    request.max_count = static_cast<std::int64_t>(WarmupDetector::kWindow);
    request.max_ns = most_ns;
    TOUCHSTONE_ASSIGN(const Turn turn, context_.columns[column].measure(request));
    detector.add(turn.samples_ns);
    latency_ns_[column] = median({turn.samples_ns.begin(), turn.samples_ns.end()});
  }
  return context_.columns[column].rest();
}

Result<double> GroupRunner::probe_machine() {
  probes_.push_back(static_cast<double>(context_.probe.run()));
  const auto now = Clock::now().time_since_epoch();
  TOUCHSTONE_TRY(context_.store.add_calibration(
      context_.run_id, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(),
      static_cast<std::int64_t>(probes_.back())));
  return probes_.back();
}

// A burst of somebody else's work is waited out, for as long as the turn itself would take and half a second
// at most.
Result<void> GroupRunner::wait_for_quiet(std::size_t column) {
  const auto most = std::min<Seconds>(kLongestWait, Seconds(std::max(latency_ns_[column] / 1e9, 0.1)));
  const auto end = Clock::now() + most;
  while (Clock::now() < end) {
    const auto usual = context_.probe.usual();
    if (!usual || slow_machine(probes_.back(), *usual).empty()) {
      return {};
    }
    std::this_thread::sleep_for(kBetweenProbes);
    TOUCHSTONE_TRY(probe_machine());
  }
  return {};
}

// One turn; false where it was disturbed and is to be repeated.
Result<bool> GroupRunner::take_turn(std::size_t column, int round, bool may_repeat) {
  const TurnPlan plan = plan_turn(latency_ns_[column], context_.cache_bytes);
  const MeasureRequest request = turn_request(plan);
  TOUCHSTONE_TRY(wait_for_quiet(column));
  const double before = probes_.back();
  TOUCHSTONE_ASSIGN(Turn turn, context_.columns[column].measure(request));
  TOUCHSTONE_TRY(context_.columns[column].rest());
  TOUCHSTONE_ASSIGN(const double after, probe_machine());
  if (const auto usual = context_.probe.usual(); usual && !turn.dropped) {
    turn.drop_reason = slow_machine((before + after) / 2, *usual);
    turn.dropped = !turn.drop_reason.empty();
  }
  turn.launch = launch_;
  turn.round = round;
  dropped_[column] += turn.dropped ? 1 : 0;
  turn.dropped = turn.dropped && may_repeat;
  const bool counts = !turn.dropped;
  TOUCHSTONE_TRY(context_.store.add_turn(cells_[column].id, turn));
  series_[column].push_back(std::move(turn));
  return counts;
}

// Repeats of disturbed turns are capped: on a machine that is never quiet the last turn counts, and the cell
// says `disturbed`.
Result<void> GroupRunner::turn(std::size_t column, int round) {
  const PhaseTimer timer(context_.phases.samples);
  while (true) {
    TOUCHSTONE_ASSIGN(const bool counts, take_turn(column, round, dropped_[column] < kMostDrops));
    if (counts) {
      return {};
    }
  }
}

Result<void> GroupRunner::measure(std::optional<Seconds> allowance, const PrecisionRule& rule) {
  const auto begin = Clock::now();
  const std::int64_t warm_ns =
      allowance ? std::min(kWarmNs, static_cast<std::int64_t>(kWarmShare * allowance->count() * 1e9))
                : kWarmNs;
  for (std::size_t column = 0; column < cells_.size(); ++column) {
    if (live(column)) {
      show(column, CellView::State::kMeasuring,
           fmt::format("warming {} at {}", cells_[column].column, where()));
      TOUCHSTONE_TRY(absorb(column, warm(column, warm_ns)));
    }
  }
  TOUCHSTONE_ASSIGN(const std::int64_t last_turn, context_.store.last_turn());
  last_turns_ = {last_turn};
  const auto first_round = Clock::now();
  for (int round = 0;; ++round) {
    if (round > 0) {
      round_time_ = Seconds(Clock::now() - first_round) / round;
    }
    bool racing = false;
    for (std::size_t column = 0; column < cells_.size(); ++column) {
      racing = racing || (live(column) && !finished_[column]);
    }
    const bool late = allowance && round > 0 && Seconds(Clock::now() - begin) + *round_time_ > *allowance;
    if (!racing || late) {
      break;
    }
    const std::vector<std::size_t> order = shuffled(
        static_cast<std::uint64_t>(round), std::hash<std::string>{}(where() + std::to_string(launch_)));
    TOUCHSTONE_TRY(context_.store.begin());
    TOUCHSTONE_TRY(probe_machine());
    for (const std::size_t column : order) {
      // The baseline races until the last is done, so that every ratio pairs.
      if (!live(column) || (finished_[column] && column != context_.baseline)) {
        continue;
      }
      const auto outcome = absorb(column, turn(column, round));
      if (!outcome) {
        [[maybe_unused]] const auto kept = context_.store.commit();
        return outcome;
      }
      if (live(column)) {
        latency_ns_[column] =
            median({series_[column].back().samples_ns.begin(), series_[column].back().samples_ns.end()});
        fill_estimate(cells_[column], series_[column], launch_);
      }
      if (round == 0) {
        TOUCHSTONE_TRY(absorb(column, live(column) ? check_after(column) : Result<void>{}));
      }
    }
    TOUCHSTONE_TRY(context_.store.commit());
    TOUCHSTONE_ASSIGN(const std::int64_t last, context_.store.last_turn());
    last_turns_.push_back(last);
    for (const std::size_t column : order) {
      TOUCHSTONE_TRY(set_aside_late_warmup(column));
      // Judged when the round is whole, so that the ratio to the baseline has its pair.
      finished_[column] = finished_[column] || (rule.done(series_[column]) && ratio_known(column, rule));
      show(column, CellView::State::kMeasuring, fmt::format("round {} of {}", round + 1, where()));
    }
  }
  return conclude();
}

// Rounds that turn out to have been warm-up leave the statistics; they stay in the store.
Result<void> GroupRunner::set_aside_late_warmup(std::size_t column) {
  const std::size_t late = live(column) ? late_warm_rounds(series_[column]) : 0;
  if (late == 0) {
    return {};
  }
  const char* reason = "was still warm-up: all rounds after it are more than 5 % faster";
  std::size_t left = late;
  int last_round = 0;
  for (Turn& turn : series_[column]) {
    if (left > 0 && !turn.dropped) {
      turn.dropped = true;
      turn.drop_reason = reason;
      last_round = turn.round;
      --left;
    }
  }
  fill_estimate(cells_[column], series_[column], launch_);
  return context_.store.set_aside_turns(cells_[column].id, last_turns_.front(),
                                        last_turns_[static_cast<std::size_t>(last_round) + 1], reason);
}

bool GroupRunner::ratio_known(std::size_t column, const PrecisionRule& rule) const {
  return column == context_.baseline || !live(context_.baseline) ||
         rule.ratio_done(series_[column], series_[context_.baseline]);
}

Result<void> GroupRunner::conclude() {
  const auto best = context_.probe.at_best();
  const bool slower = best && !probes_.empty() && median(probes_) > kMachineSlower * *best;
  const PrecisionRule target(context_.plan.precision_target);
  for (std::size_t column = 0; column < cells_.size(); ++column) {
    CellRecord& cell = cells_[column];
    if (!live(column)) {
      continue;
    }
    cell.state = target.met(series_[column]) ? "done" : "budget";
    cell.disturbed = slower || dropped_[column] >= kMostDrops;
    TOUCHSTONE_TRY(context_.store.put_cell(cell));
    if (cell.disturbed) {
      context_.note(fmt::format("{} at {} was disturbed: {} of its turns were slow{}", cell.column, where(),
                                dropped_[column],
                                slower ? ", the machine as a whole was slower than at its best" : ""));
    }
    show(column, view_of(cell).state, "");
  }
  for (std::size_t column = 0; column < cells_.size(); ++column) {
    const auto ratio = paired_ratio(series_[column], series_[context_.baseline]);
    if (!ratio || column == context_.baseline || cells_[column].state == "na" ||
        cells_[context_.baseline].state == "na") {
      continue;
    }
    RatioRecord record;
    record.cell = cells_[column].id;
    record.baseline = cells_[context_.baseline].id;
    record.ratio = ratio->ratio;
    record.low = ratio->interval ? std::optional(ratio->interval->low) : std::nullopt;
    record.high = ratio->interval ? std::optional(ratio->interval->high) : std::nullopt;
    record.call = ratio->call == Ratio::Call::kFaster   ? "faster"
                  : ratio->call == Ratio::Call::kSlower ? "slower"
                                                        : "same";
    record.rounds = static_cast<std::int64_t>(ratio->rounds);
    TOUCHSTONE_TRY(context_.store.put_ratio(record));
  }
  return {};
}

}  // namespace touchstone
