// SPDX-License-Identifier: Apache-2.0
#include "results/load.h"

#include "results/store.h"

namespace touchstone {

Result<RunData> load_latest_run(const std::string& path) {
  TOUCHSTONE_ASSIGN(const Store store, Store::open_for_reading(path));
  TOUCHSTONE_ASSIGN(const auto runs, store.runs());
  if (runs.empty()) {
    return fail(Reason::kStorage, "{}: holds no run yet", path);
  }
  RunData data;
  data.run = runs.back();
  TOUCHSTONE_ASSIGN(data.cells, store.cells(data.run.id));
  TOUCHSTONE_ASSIGN(data.ratios, store.ratios(data.run.id));
  TOUCHSTONE_ASSIGN(data.environment, store.environment(data.run.id));
  return data;
}

}  // namespace touchstone
