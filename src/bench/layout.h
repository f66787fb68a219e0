// SPDX-License-Identifier: Apache-2.0
// From axes to cells: the columns and shapes of a plan, for the model at hand.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "bench/plan.h"
#include "bench/user_inputs.h"
#include "engines/catalogue.h"
#include "graph/bundle.h"

namespace touchstone {

/// The plan's columns: as given, or the product of engines, shape modes, devices, precisions and threads
/// (shape modes that an engine does not know are left out). Errors: usage.
Result<std::vector<Column>> layout_columns(const Plan& plan, const std::vector<EngineManifest>& catalogue);

/// The product of the axes, by the model's own names for its dimensions, in order of growing size. `batch`
/// and `seq` find the model's batch and sequence dimensions where it names them otherwise. Errors: usage: a
/// dimension without values (lists all with the flag to add), or one that the model does not have (with the
/// nearest name). A user's inputs settle the dimensions that they have; the batch is theirs where no axis
/// names one. Errors too where the axes leave none of the user's sets.
Result<std::vector<DimensionValues>> layout_shapes(const Plan& plan, const Bundle& bundle,
                                                   const UserInputs* user = nullptr);

/// The model's names for its batch and sequence dimensions, where it has them.
std::optional<std::string> batch_dimension(const Bundle& bundle);
std::optional<std::string> sequence_dimension(const Bundle& bundle);

/// Product of the values: what time is about proportional to.
double shape_size(const DimensionValues& shape);

/// Other values for the dimensions than the batch's, for a plan that has one length only: half of each, or
/// twice where that is too short. Nothing for models without further symbolic dimensions.
std::optional<DimensionValues> another_length(const std::vector<DimensionValues>& shapes,
                                              const Bundle& bundle, const DimensionValues& shape);

}  // namespace touchstone
