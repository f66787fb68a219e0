// SPDX-License-Identifier: Apache-2.0
// The kinds of bundles: models of the zoo, files and checkpoints of a user.
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

/// The bundle of a checkpoint folder with config.json and model.safetensors or pytorch_model.bin (or shards
/// of either with their index), or of a graph of its generation; kept like a file's, as long as those do not
/// change. Errors: invalid-model and unsupported, naming field, tensor and file; storage.
Result<Bundle> checkpoint_bundle(const ModelName& model, const std::filesystem::path& bundles);

}  // namespace touchstone
