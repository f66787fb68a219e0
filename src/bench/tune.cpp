// SPDX-License-Identifier: Apache-2.0
#include "bench/tune.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bench/helper_process.h"
#include "bench/layout.h"
#include "bench/planned_columns.h"
#include "results/store.h"

namespace touchstone {
namespace {

// The first race has many columns; the second decides.
constexpr double kFirstRace = 0.6;

// A column with one or more settings changed; `axes` names them ("threads", an option), one setting of an
// axis at most.
struct Candidate {
  Column column;
  std::set<std::string> axes;
};

Candidate changed(const Column& defaults, const std::string& axis, const std::string& value) {
  Candidate candidate{defaults, {axis}};
  candidate.column.variant = axis + "=" + value;
  return candidate;
}

std::vector<Candidate> candidates_of(const Column& defaults, const EngineManifest& manifest,
                                     const Bundle& bundle, int cores) {
  std::vector<Candidate> candidates;
  for (const std::string& form : manifest.tune_forms) {
    const auto found = bundle.forms.find(form);
    const std::string& used = bundle.forms.contains(manifest.form) ? manifest.form : "source";
    const bool readable =
        found != bundle.forms.end() && (manifest.reads != "onnx" || !found->second.onnx.empty());
    if (readable && form != used) {
      candidates.push_back(changed(defaults, "form", form));
      candidates.back().column.form = form;
    }
  }
  for (const int threads : std::set<int>{1, cores / 2}) {
    if (threads >= 1 && threads < cores) {
      candidates.push_back(changed(defaults, "threads", std::to_string(threads)));
      candidates.back().column.threads = threads;
    }
  }
  for (const auto& [option, values] : manifest.tune_options) {
    for (const std::string& value : values) {
      candidates.push_back(changed(defaults, option, value));
      candidates.back().column.options[option] = value;
    }
  }
  return candidates;
}

// Both changes at once.
Candidate combined(const Candidate& a, const Candidate& b) {
  Candidate both = a;
  both.axes.insert(b.axes.begin(), b.axes.end());
  if (b.axes.contains("form")) {
    both.column.form = b.column.form;
  }
  if (b.axes.contains("threads")) {
    both.column.threads = b.column.threads;
  }
  for (const auto& [option, value] : b.column.options) {
    if (b.axes.contains(option)) {
      both.column.options[option] = value;
    }
  }
  both.column.variant = a.column.variant + ", " + b.column.variant;
  return both;
}

class Tuner {
 public:
  Tuner(const RunRequest& request, RunObserver& observer) : request_(request), observer_(observer) {}

  Result<std::vector<ColumnTuning>> tune_all();

 private:
  Result<ColumnTuning> tune_column(const Column& defaults, const Bundle& bundle,
                                   const std::vector<EngineManifest>& catalogue);
  Result<std::vector<TriedSetting>> race(const Column& defaults, const std::vector<Candidate>& candidates,
                                         double share);

  const RunRequest& request_;
  RunObserver& observer_;
  std::size_t columns_ = 1;
};

// What the ratios of a run say of one column.
TriedSetting outcome_of(const std::string& label, const std::string& setting,
                        const std::vector<CellRecord>& cells, const std::vector<RatioRecord>& ratios) {
  TriedSetting tried{setting, 1, ""};
  double sum = 0;
  int count = 0;
  bool faster = false, slower = false;
  for (const CellRecord& cell : cells) {
    if (cell.column != label) {
      continue;
    }
    const auto ratio = std::find_if(ratios.begin(), ratios.end(),
                                    [&](const RatioRecord& record) { return record.cell == cell.id; });
    if (ratio == ratios.end()) {
      tried.outcome = cell.state == "na" ? cell.reason + ": " + cell.message : "not raced within the budget";
      return tried;
    }
    sum += std::log(ratio->ratio);
    ++count;
    faster = faster || ratio->call == "faster";
    slower = slower || ratio->call == "slower";
  }
  tried.ratio = count > 0 ? std::exp(sum / count) : 1;
  tried.outcome = slower ? "slower" : faster ? "faster" : "same";
  return tried;
}

Result<std::vector<TriedSetting>> Tuner::race(const Column& defaults,
                                              const std::vector<Candidate>& candidates, double share) {
  RunRequest request = request_;
  request.several = false;
  request.resume = false;
  Plan& plan = request.plan;
  plan.engines.clear();
  plan.options.clear();  // they stand in the columns already
  plan.columns = {defaults};
  for (const Candidate& candidate : candidates) {
    plan.columns.push_back(candidate.column);
  }
  plan.baseline = column_label(defaults, plan.columns);
  if (plan.budget) {
    plan.budget = std::chrono::duration_cast<std::chrono::nanoseconds>(*plan.budget * share /
                                                                       static_cast<double>(columns_));
  }
  TOUCHSTONE_ASSIGN(const RunSummary summary, run_plan(request, observer_));
  if (summary.interrupted) {
    return fail(Reason::kInterrupted, "interrupted");
  }
  TOUCHSTONE_ASSIGN(const Store store, Store::open_for_reading(request.results));
  TOUCHSTONE_ASSIGN(const auto cells, store.cells(summary.run_id));
  TOUCHSTONE_ASSIGN(const auto ratios, store.ratios(summary.run_id));
  std::vector<TriedSetting> tried;
  for (const Candidate& candidate : candidates) {
    tried.push_back(
        outcome_of(column_label(candidate.column, plan.columns), candidate.column.variant, cells, ratios));
  }
  return tried;
}

// The best of each axis among those that were faster, best first.
std::vector<Candidate> winners_of(const std::vector<Candidate>& candidates,
                                  const std::vector<TriedSetting>& tried) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < tried.size(); ++i) {
    if (tried[i].outcome == "faster") {
      order.push_back(i);
    }
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return tried[a].ratio < tried[b].ratio; });
  std::vector<Candidate> winners;
  std::set<std::string> axes;
  for (const std::size_t i : order) {
    if (axes.insert(*candidates[i].axes.begin()).second) {
      winners.push_back(candidates[i]);
    }
  }
  return winners;
}

Result<ColumnTuning> Tuner::tune_column(const Column& defaults, const Bundle& bundle,
                                        const std::vector<EngineManifest>& catalogue) {
  ColumnTuning tuning;
  tuning.column = column_label(defaults, {defaults});
  TOUCHSTONE_ASSIGN(const auto cpus, cpus_for({defaults}));
  const auto engine = resolve_engine(catalogue, {request_.installation.home, request_.installation.bin},
                                     defaults.engine.engine, defaults.engine.version, defaults.engine.mode,
                                     defaults.device, static_cast<int>(cpus.size()));
  if (!engine) {
    tuning.error = engine.error();
    return tuning;
  }
  tuning.choice.column = defaults;
  tuning.choice.column.engine.mode = engine->mode;
  tuning.choice.column.variant = "tuned";
  tuning.choice.version = engine->version;
  tuning.choice.machine = machine_words(cpus);
  const auto candidates = candidates_of(defaults, engine->manifest, bundle, static_cast<int>(cpus.size()));
  if (candidates.empty()) {
    return tuning;
  }
  TOUCHSTONE_ASSIGN(tuning.tried, race(defaults, candidates, kFirstRace));
  std::vector<Candidate> finalists = winners_of(candidates, tuning.tried);
  if (finalists.empty()) {
    return tuning;
  }
  if (finalists.size() > 1) {
    Candidate all = finalists.front();
    for (std::size_t i = 1; i < finalists.size(); ++i) {
      all = combined(all, finalists[i]);
    }
    finalists = {finalists.front(), std::move(all)};
  }
  TOUCHSTONE_ASSIGN(tuning.last, race(defaults, finalists, 1 - kFirstRace));
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    const TriedSetting& tried = tuning.last[i];
    if (tried.outcome == "faster" && tried.ratio < tuning.choice.ratio) {
      const EngineSelector selector = tuning.choice.column.engine;
      tuning.choice.column = finalists[i].column;
      tuning.choice.column.engine = selector;
      tuning.choice.column.variant = "tuned";
      tuning.choice.setting = tried.setting;
      tuning.choice.ratio = tried.ratio;
    }
  }
  return tuning;
}

Result<std::vector<ColumnTuning>> Tuner::tune_all() {
  TOUCHSTONE_ASSIGN(const auto described,
                    call_model_helper(request_.installation, {"prepare", request_.plan.model, "--home",
                                                              request_.installation.home}));
  TOUCHSTONE_ASSIGN(const Bundle bundle, bundle_from_json(described, described.value("folder", "")));
  TOUCHSTONE_ASSIGN(const auto catalogue, read_catalogue(request_.installation.manifests));
  TOUCHSTONE_ASSIGN(const auto columns, layout_columns(request_.plan, catalogue));
  columns_ = columns.size();
  std::vector<ColumnTuning> all;
  for (const Column& column : columns) {
    TOUCHSTONE_ASSIGN(ColumnTuning tuning, tune_column(column, bundle, catalogue));
    if (!tuning.error) {
      TOUCHSTONE_TRY(keep_tuned(request_.installation, bundle, tuning.choice));
    }
    all.push_back(std::move(tuning));
  }
  return all;
}

}  // namespace

Result<std::vector<ColumnTuning>> tune(const RunRequest& request, RunObserver& observer) {
  return Tuner(request, observer).tune_all();
}

}  // namespace touchstone
