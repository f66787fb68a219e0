// SPDX-License-Identifier: Apache-2.0
// Arrays in the element type that a model asks for.
#pragma once

#include "base/result.h"
#include "datasets/npz.h"

namespace touchstone {

/// `array` in `type`. Integers and booleans keep their values or are refused; floating point is rounded.
/// `rounded` is set where values changed. Errors: invalid-input, with the first value that does not fit.
Result<Array> convert_array(Array array, DataType type, bool& rounded);

}  // namespace touchstone
