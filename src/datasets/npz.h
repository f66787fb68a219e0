// SPDX-License-Identifier: Apache-2.0
// Arrays as numpy stores them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/types.h"

namespace touchstone {

/// A tensor that owns its bytes: row-major, little-endian.
struct Array {
  std::string name;
  DataType type = DataType::kUndefined;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> bytes;
};

/// One array in numpy's .npy format, versions 1 to 3; arrays in Fortran's order are turned. Nothing is
/// unpickled: arrays of objects are refused. `name` goes into the result and into errors. Takes no more
/// memory than twice the file's. Source: numpy.lib.format. Errors: invalid-input, unsupported.
Result<Array> parse_npy(std::string name, std::span<const std::byte> file);

/// All arrays of an .npz file (np.savez, np.savez_compressed), by their names without `.npy`, in the
/// archive's order; or the one array of an .npy file, whose name is empty. A compressed file may grow by what
/// deflate can do at most: a factor of 1032. Errors: as above, naming file and array.
Result<std::vector<Array>> read_arrays(const std::string& path);

}  // namespace touchstone
