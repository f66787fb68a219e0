// SPDX-License-Identifier: Apache-2.0
// The rows of a results file, as values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/series.h"

namespace touchstone {

struct RunRecord {
  std::int64_t id = 0;
  std::string created;  // UTC, ISO 8601
  std::string kind;     // `run`, `verify`, or `published` for an imported table
  std::string model;    // zoo name or file stem
  std::string bundle;   // hash of the model's content
  std::string plan_hash;
  std::string plan;      // canonical text
  std::string baseline;  // column label
  std::string version;   // of Touchstone
  std::string status;    // `running`, `done`, `interrupted`, `budget`
  double precision_target = 0;
  std::uint64_t seed = 0;
  std::int64_t elapsed_ns = 0;
  std::map<std::string, std::int64_t> phases_ns;  // reading, proof, compiling, warm-up, samples
};

/// One cell: a column at a shape. Times in nanoseconds.
struct CellRecord {
  std::int64_t id = 0;
  std::int64_t run = 0;
  std::string column;  // label
  std::string engine, version, mode, device, precision, shape_mode;
  int threads = 0;
  std::map<std::string, std::string> options;
  std::map<std::string, std::int64_t> dimensions;
  std::int64_t batch = 0, sequence = 0;  // 0: the model has no such dimension
  std::string state;            // `done`, `budget` (a time, wider than the target), `na`, `proven`, `waiting`
  std::string reason, message;  // of `na`
  bool disturbed = false;
  std::optional<std::int64_t> load_ns, compile_ns, first_ns, peak_bytes;
  std::optional<double> max_error, cosine;  // against the reference
  std::string verdict;                      // "equal", "not judged", or what differs
  std::optional<double> median_ns, low_ns, high_ns, across_low_ns, across_high_ns, p90_ns, p99_ns, minimum_ns;
  std::int64_t rounds = 0, samples = 0;

  /// Rows a second at the median: batch ÷ time, an inference being one row where there is no batch.
  std::optional<double> throughput() const {
    return median_ns ? std::optional(static_cast<double>(batch > 0 ? batch : 1) * 1e9 / *median_ns)
                     : std::nullopt;
  }
};

struct RatioRecord {
  std::int64_t cell = 0, baseline = 0;  // ids
  double ratio = 1;                     // time of cell ÷ time of baseline
  std::optional<double> low, high;
  std::string call;  // `faster`, `slower`, `same`
  std::int64_t rounds = 0;
};

}  // namespace touchstone
