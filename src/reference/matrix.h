// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/operators.h"

namespace touchstone {

/// NumPy's matmul: the last two dimensions multiply, the others broadcast, vectors are widened. `call` is for
/// messages.
Outputs matmul_values(const Call& call, const Value& left, const Value& right);

}  // namespace touchstone
