// SPDX-License-Identifier: Apache-2.0
// The two kinds of bundles: models of the zoo, and files of a user.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"
#include "graph/bundle.h"
#include "models/zoo.h"

namespace touchstone {

/// From the cache folder `bundles`, or made there now. Errors: storage.
Result<Bundle> zoo_bundle(const ZooEntry& entry, const std::filesystem::path& bundles);

/// The bundle of an .onnx file, which itself stays where it is: its source form names it. A file that has not
/// changed since (place, size, time; its external data too) is not read again.
/// Errors: invalid-model, unsupported, storage.
Result<Bundle> file_bundle(const std::string& model, const std::filesystem::path& bundles);

}  // namespace touchstone
