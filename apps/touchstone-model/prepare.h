// SPDX-License-Identifier: Apache-2.0
// The subcommands `prepare` and `cost`.
#pragma once

#include <string>

#include "base/result.h"
#include "graph/bundle.h"

namespace touchstone {

/// The bundle of a zoo model, an .onnx file or a checkpoint's folder, from the cache under `home` or made
/// now. Errors: invalid-model, unsupported, storage, usage (no such model).
Result<Bundle> prepare_bundle(const std::string& model, const std::string& home);

/// Operations and bytes of the bundle's source form for each of `shapes`, a JSON list of objects that give
/// every symbolic dimension its value. Errors: usage, invalid-input, invalid-model.
Result<nlohmann::json> bundle_cost(const std::string& folder, const std::string& shapes);

/// All models of the zoo: name, family, description, parameters, bytes of weights, limit, and the FLOPs at a
/// stated shape (cost.h says how they are counted). Builds graphs, no weights. Errors: internal.
Result<nlohmann::json> list_zoo();

}  // namespace touchstone
