// SPDX-License-Identifier: Apache-2.0
// The reference's outputs, computed in its worker when first needed and kept on disk by content.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "bench/tensor_set.h"
#include "bench/worker_client.h"

namespace touchstone {

/// The expected outputs of one shape, mapped from the cache.
class Expected {
 public:
  /// Errors: storage.
  static Result<std::shared_ptr<const Expected>> open(const std::string& path);
  ~Expected();
  Expected(const Expected&) = delete;
  Expected& operator=(const Expected&) = delete;
  const std::vector<TensorView>& tensors() const { return tensors_; }

 private:
  Expected() = default;
  std::vector<TensorView> tensors_;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

class ReferenceStore {
 public:
  struct Setting {
    Bundle bundle;
    std::uint64_t seed = 0;
    std::string folder;  // of the cache
    WorkerLaunch launch;
    std::int64_t largest_batch = 1;  // of the plan
    int threads = 1;
  };
  ReferenceStore(Setting setting, MemoryWatch& watch) : setting_(std::move(setting)), watch_(watch) {}

  /// The outputs that a cell of these dimensions has to show, for the padded or the timed inputs. Where rows
  /// have been shown to be independent, the result may be of another batch: compare the rows that both have.
  /// Errors: unsupported-operator and all else that the reference's worker reports.
  Result<std::shared_ptr<const Expected>> get(const DimensionValues& dimensions, bool padded);

  /// Whether results of another batch may stand for a cell; known after the first `get`.
  bool prefixes() const { return rows_independent_.value_or(false); }
  /// Ends the worker; it starts again when needed.
  void release() { worker_.reset(); }

 private:
  Result<std::shared_ptr<const Expected>> compute(const DimensionValues& dimensions, bool padded);
  Result<void> ensure_worker();
  Result<void> show_independence(const DimensionValues& dimensions);
  std::string path_of(const DimensionValues& dimensions, bool padded) const;
  Result<void> save(const std::string& path, const Message& outputs) const;

  Setting setting_;
  MemoryWatch& watch_;
  std::unique_ptr<WorkerClient> worker_;
  std::map<std::string, std::shared_ptr<const Expected>> open_;
  std::optional<bool> rows_independent_;
};

}  // namespace touchstone
