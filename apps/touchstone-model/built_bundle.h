// SPDX-License-Identifier: Apache-2.0
// The bundle of a graph that Touchstone builds itself, its weights filled in by whoever has them.
#pragma once

#include <functional>
#include <span>

#include "describe.h"
#include "models/zoo.h"

namespace touchstone {

/// Writes one weight, in place. Errors are the bundle's.
using FillWeight = std::function<Result<void>(const WeightSpec& weight, std::span<float> out)>;

/// Makes all forms, the weights and their hash in `folder`, which the caller has created and commits.
/// Errors: storage, invalid-model, those of `fill`.
Result<Bundle> build_bundle(const ZooEntry& entry, const FillWeight& fill, const TemporaryFolder& folder);

}  // namespace touchstone
