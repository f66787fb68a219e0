// SPDX-License-Identifier: Apache-2.0
// The subcommand `samples`: a user's own inputs, and the outputs they should give, made ready for the driver.
#pragma once

#include <string>

#include "base/result.h"
#include "graph/bundle.h"

namespace touchstone {

struct SamplesRequest {
  std::string bundle;    // folder
  std::string inputs;    // an .npz or .npy file, or a folder of ONNX test data
  std::string expected;  // an .npz or .npy file; empty: none, or what the test data has
  std::string output;    // where the data goes; the caller removes it
};

/// Reads the files, finds each array's input or output of the model, converts element types where nothing is
/// lost (and float64 to the model's type), and writes all data to `output`. The answer: {"hash", "size",
/// "notes", "sets": [{"name", "dimensions", "rows", "inputs": [place or null], "expected": [place or
/// null]}]}; `rows` is 0 where a set cannot be taken apart into samples. Errors: invalid-input and
/// unsupported, naming file and array; storage.
Result<nlohmann::json> make_samples(const SamplesRequest& request);

}  // namespace touchstone
