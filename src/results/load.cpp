// SPDX-License-Identifier: Apache-2.0
#include "results/load.h"

#include "results/store.h"

namespace touchstone {
namespace {

Result<RunData> load(const Store& store, const RunRecord& run) {
  RunData data;
  data.run = run;
  TOUCHSTONE_ASSIGN(data.cells, store.cells(run.id));
  TOUCHSTONE_ASSIGN(data.ratios, store.ratios(run.id));
  TOUCHSTONE_ASSIGN(data.environment, store.environment(run.id));
  return data;
}

}  // namespace

Result<RunData> load_latest_run(const std::string& path) {
  TOUCHSTONE_ASSIGN(const Store store, Store::open_for_reading(path));
  TOUCHSTONE_ASSIGN(const auto runs, store.runs());
  if (runs.empty()) {
    return fail(Reason::kStorage, "{}: holds no run yet", path);
  }
  return load(store, runs.back());
}

Result<std::vector<RunData>> load_latest_runs(const std::string& path) {
  TOUCHSTONE_ASSIGN(const Store store, Store::open_for_reading(path));
  TOUCHSTONE_ASSIGN(const auto runs, store.runs());
  std::map<std::string, std::int64_t> newest;
  for (const RunRecord& run : runs) {
    if (run.kind == "run") {
      newest[run.model] = run.id;
    }
  }
  std::vector<RunData> all;
  for (const RunRecord& run : runs) {
    if (const auto found = newest.find(run.model); found != newest.end() && found->second == run.id) {
      TOUCHSTONE_ASSIGN(RunData data, load(store, run));
      all.push_back(std::move(data));
    }
  }
  if (all.empty()) {
    return fail(Reason::kStorage, "{}: holds no timed run yet", path);
  }
  return all;
}

Result<RunData> load_run(const std::string& path, std::int64_t id) {
  TOUCHSTONE_ASSIGN(const Store store, Store::open_for_reading(path));
  TOUCHSTONE_ASSIGN(const auto runs, store.runs());
  std::string known;
  for (const RunRecord& run : runs) {
    if (run.id == id) {
      return load(store, run);
    }
    known += fmt::format("{}{} ({}, {})", known.empty() ? "" : ", ", run.id, run.model, run.created);
  }
  return fail(Reason::kUsage, "{}: holds no run {}; it has: {}", path, id, known.empty() ? "none" : known);
}

}  // namespace touchstone
