// SPDX-License-Identifier: Apache-2.0
// The tensors of a checkpoint: `model.safetensors` or `pytorch_model.bin`, in one file or in shards with an
// index.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/types.h"

namespace touchstone {

/// One tensor as it is stored. `strides` are in elements, as PyTorch keeps them.
struct StoredTensor {
  DataType type = DataType::kUndefined;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::string file;
  /// Gives the bytes of the tensor's storage, from its first element on, to `use`, and lets them go after.
  /// Errors: invalid-model, naming file and tensor; what `use` returns.
  std::function<Result<void>(const std::function<Result<void>(std::span<const std::byte>)>& use)> read;
};

using TensorIndex = std::map<std::string, StoredTensor>;

/// Format: huggingface/safetensors, README. Errors: invalid-model, naming file and tensor.
Result<TensorIndex> read_safetensors(const std::string& path);
/// torch.save's zip with a pickled dictionary of tensors. Nothing of the pickle is executed.
/// Errors: invalid-model, unsupported, naming file and what was found.
Result<TensorIndex> read_pytorch(const std::string& path);
/// Whichever of the files above `folder` holds. Errors: invalid-model.
Result<TensorIndex> read_checkpoint(const std::string& folder);
/// The files that read_checkpoint would read, those of an index first.
Result<std::vector<std::string>> checkpoint_files(const std::string& folder);

/// Copies a tensor into `out` as float32 and row-major, turned where `transposed`: then `out` has the last
/// dimension first. Errors: unsupported, for element types other than float32, float16, bfloat16 and float64;
/// invalid-model.
Result<void> copy_as_float(const std::string& name, const StoredTensor& tensor, bool transposed,
                           std::span<float> out);

}  // namespace touchstone
