// SPDX-License-Identifier: Apache-2.0
// One column's worker over a run: started when first needed, started again after a crash, stopped while
// others are measured.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "bench/input_source.h"
#include "bench/plan.h"
#include "bench/proof.h"
#include "bench/worker_client.h"
#include "engines/catalogue.h"
#include "measure/sampling.h"
#include "measure/series.h"

namespace touchstone {

/// What a worker is asked for in a turn of this plan.
MeasureRequest turn_request(const TurnPlan& plan);

class ColumnSession {
 public:
  struct Setting {
    Column column;
    std::string label;
    ResolvedEngine engine;
    std::string model;  // the file that the engine reads
    Judging judging;
    int threads = 1;
    std::vector<int> cpus;
    std::uint64_t memory_limit = 0;
    std::chrono::nanoseconds timeout{};
    std::string log_file;
  };
  ColumnSession(Setting setting, MemoryWatch& watch) : setting_(std::move(setting)), watch_(watch) {}

  const Setting& setting() const { return setting_; }

  /// Starts the worker and loads the model, if that is not done. Errors: of the whole column.
  Result<void> ensure_loaded();
  /// Makes the worker ready for a shape; returns nanoseconds of compiling. The peak of memory starts anew.
  Result<std::int64_t> prepare(const TensorSet& inputs);
  Result<void> set_inputs(const TensorSet& inputs);
  /// One inference, its outputs compared; returns its nanoseconds.
  Result<std::int64_t> infer_and_compare(const Expected& expected, Proof& proof);
  /// One inference whose outputs are kept, as what other engines' may be held against; its nanoseconds too.
  Result<std::pair<Expected, std::int64_t>> infer_and_keep();
  /// The outputs of the last timed inference, compared.
  Result<void> compare_last(const Expected& expected, Proof& proof);
  /// One turn of samples, with what others took of the CPUs meanwhile.
  Result<Turn> measure(const MeasureRequest& request);
  Result<std::int64_t> peak_bytes();
  Result<void> rest() { return worker_ ? worker_->rest() : Result<void>{}; }
  /// Ends the worker; the next use starts a new one.
  void restart() { worker_.reset(); }

  std::int64_t load_ns() const { return load_ns_; }
  const Options& options_in_force() const { return options_; }
  const std::string& engine_version() const { return version_; }

 private:
  Result<Expected> outputs_of(const Message& reply) const;

  Setting setting_;
  MemoryWatch& watch_;
  std::unique_ptr<WorkerClient> worker_;
  std::int64_t load_ns_ = 0;
  Options options_;
  std::string version_;
  int crashes_ = 0;
};

}  // namespace touchstone
