// SPDX-License-Identifier: Apache-2.0
// The few opcodes of Python's pickle that a state dictionary of PyTorch needs. Nothing is executed: the only
// calls that are understood are those that rebuild tensors and dictionaries.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/types.h"

namespace touchstone {

/// A tensor as torch.save wrote it: a view of a storage that lies in the archive under data/`key`.
struct PickledTensor {
  std::string key;
  DataType type = DataType::kUndefined;
  std::uint64_t storage_elements = 0;
  std::uint64_t offset = 0;  // in elements
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

/// The tensors of a pickled dictionary, by name; other values are passed over. Every view lies inside its
/// storage. Takes at most some 200 bytes of memory for each of the pickle's.
/// Source: Python's pickletools, protocols 2 to 4; torch/_utils.py for the calls.
/// Errors: invalid-model and unsupported, with the byte at which reading stopped.
Result<std::map<std::string, PickledTensor>> read_pickled_tensors(std::span<const std::byte> pickle);

}  // namespace touchstone
