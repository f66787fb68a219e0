// SPDX-License-Identifier: Apache-2.0
// A program as a TorchScript module: its text is generated, compiled, frozen and optimised for inference,
// without Python.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include "program.h"

namespace touchstone::pytorch {

/// The source of `forward`. Steps without a text of their own call operators that `make_module` registers
/// under the number of the module.
std::string script_source(const Program& program, int module);

/// Compiles, freezes and optimises. Throws what PyTorch throws.
torch::jit::Module make_module(const Program& program);

}  // namespace touchstone::pytorch
