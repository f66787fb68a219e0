// SPDX-License-Identifier: Apache-2.0
// The outputs that a cell has to show: the user's own where given, else the reference's, computed in its
// worker when first needed and kept on disk by content.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "bench/input_source.h"
#include "bench/proof.h"
#include "bench/worker_client.h"

namespace touchstone {

class ReferenceStore {
 public:
  struct Setting {
    Bundle bundle;
    std::string folder;  // of the cache
    WorkerLaunch launch;
    std::int64_t largest_batch = 1;  // of the plan
    int threads = 1;
  };
  /// `inputs` and `watch` have to outlive the store.
  ReferenceStore(Setting setting, const InputSource& inputs, MemoryWatch& watch)
      : setting_(std::move(setting)), inputs_(inputs), watch_(watch) {}

  /// What a cell of these dimensions has to show for a batch of inputs. Where rows have been shown to be
  /// independent, the result may have more rows than the cell.
  /// Errors: invalid-input, where the user's outputs do not fit; unsupported-operator and all else that the
  /// reference's worker reports.
  Result<Expected> get(const DimensionValues& dimensions, const InputBatch& batch);

  /// Whose outputs `get` gives, for messages.
  std::string truth() const;
  /// Ends the worker; it starts again when needed.
  void release() { worker_.reset(); }

 private:
  Result<Expected> compute(const DimensionValues& dimensions, const InputBatch& batch);
  Result<Expected> computed_rows(const DimensionValues& dimensions, const InputBatch& batch);
  Result<Expected> given(const DimensionValues& dimensions, const InputBatch& batch) const;
  Result<void> compute_and_save(const DimensionValues& dimensions, const InputBatch& batch,
                                const std::string& path);
  Result<void> ensure_worker();
  Result<void> show_independence(const DimensionValues& dimensions, const InputBatch& batch);
  std::string path_of(const DimensionValues& dimensions, const InputBatch& batch) const;
  Result<void> save(const std::string& path, const Message& outputs) const;
  const UserInputSet* user_set(const InputBatch& batch) const;

  Setting setting_;
  const InputSource& inputs_;
  MemoryWatch& watch_;
  std::unique_ptr<WorkerClient> worker_;
  std::map<std::string, Expected> open_;
  std::map<std::string, Error> failed_;  // by path: not tried twice
  std::optional<bool> rows_independent_;
};

}  // namespace touchstone
