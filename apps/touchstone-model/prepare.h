// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "graph/bundle.h"

namespace touchstone {

/// The bundle of a zoo model or an .onnx file, from the cache under `home` or made now.
/// Errors: invalid-model, storage, usage (no such model).
Result<Bundle> prepare_bundle(const std::string& model, const std::string& home);

}  // namespace touchstone
