// SPDX-License-Identifier: Apache-2.0
// From turns to a cell's record, and from there to what a person sees.
#pragma once

#include "bench/run.h"
#include "measure/series.h"
#include "results/records.h"

namespace touchstone {

/// The estimate and its parts, into the record. `launch`: whose interval stands as the within-launch one.
void fill_estimate(CellRecord& cell, const Series& series, int launch);
CellView view_of(const CellRecord& cell);

}  // namespace touchstone
