// SPDX-License-Identifier: Apache-2.0
// From the columns of a plan to what their workers are started with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/column_session.h"
#include "bench/run.h"

namespace touchstone {

struct PlannedColumn {
  ColumnSession::Setting setting;
  std::optional<Error> missing;  // why it cannot run here at all
};

/// `columns` are as layout_columns gives them, for a model in `bundle`; every worker's log begins anew.
/// Errors: usage (no such engine, version or mode; an output that the bundle lacks).
Result<std::vector<PlannedColumn>> planned_columns(const Plan& plan, const Installation& installation,
                                                   const Bundle& bundle,
                                                   const std::vector<EngineManifest>& catalogue,
                                                   const std::vector<Column>& columns,
                                                   const std::vector<int>& cpus);

/// The CPUs for the widest of the columns. Errors: usage, where the machine has fewer.
Result<std::vector<int>> cpus_for(const std::vector<Column>& columns);

/// The reference, which computes in double precision, and how its worker is started. Errors: engine-missing.
Result<ResolvedEngine> reference_engine(const Installation& installation,
                                        const std::vector<EngineManifest>& catalogue,
                                        const std::vector<int>& cpus);
WorkerLaunch reference_launch(const Plan& plan, const Installation& installation,
                              const ResolvedEngine& engine, const std::vector<int>& cpus);

}  // namespace touchstone
