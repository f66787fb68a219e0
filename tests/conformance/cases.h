// SPDX-License-Identifier: Apache-2.0
// The operator cases of cases/*.json: a graph, its inputs and the outputs that an independent source gives.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "graph/bundle.h"
#include "worker/engine.h"

namespace touchstone {

/// A named tensor that owns its bytes.
struct CaseTensor {
  TensorSpec spec;
  std::vector<std::byte> bytes;
  TensorView view() const;
};

struct Case {
  std::string operator_name;  // the file it stands in
  std::string name;
  Graph graph;
  std::vector<CaseTensor> inputs;
  std::vector<CaseTensor> expected;  // float64 or int64
  bool half_precision = false;       // float16 takes part
};

/// All cases under `folder`, by operator. Errors: invalid-model, naming the file.
Result<std::vector<Case>> read_cases(const std::string& folder);

}  // namespace touchstone
