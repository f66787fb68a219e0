// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "worker/engine.h"

namespace touchstone::pytorch {

/// The engine without PyTorch's headers, which take many seconds to parse.
std::unique_ptr<Engine> make_engine();

}  // namespace touchstone::pytorch
