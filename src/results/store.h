// SPDX-License-Identifier: Apache-2.0
// One SQLite file holds everything that was measured; docs/results-schema.md describes it. WAL, so that it
// can be read while a run writes; one run writes at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "results/records.h"

namespace SQLite {
class Database;
}

namespace touchstone {

/// Written to PRAGMA user_version; raised with every change of the schema.
inline constexpr int kSchemaVersion = 1;

class Store {
 public:
  /// Creates the file where it is missing and migrates it where it is older.
  /// Errors (storage): not writable, disk full, from a newer version, not a results file, used by another run
  /// (named by its process id).
  static Result<Store> open_for_writing(const std::string& path);
  static Result<Store> open_for_reading(const std::string& path);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// All members return storage errors. A record's id is set by the first put; later puts update the row.
  Result<void> put_run(RunRecord& run);
  Result<void> put_environment(std::int64_t run, const std::map<std::string, std::string>& entries);
  Result<void> put_cell(CellRecord& cell);
  Result<void> add_turn(std::int64_t cell, const Turn& turn);
  /// The id of the newest turn; 0 where there is none.
  Result<std::int64_t> last_turn() const;
  /// Marks a cell's turns with ids in (after, up_to] as dropped: kept, but out of the statistics.
  Result<void> set_aside_turns(std::int64_t cell, std::int64_t after, std::int64_t up_to,
                               const std::string& reason);
  Result<void> add_calibration(std::int64_t run, std::int64_t at_ns, std::int64_t kernel_ns);
  Result<void> put_ratio(const RatioRecord& ratio);
  /// What is put between begin and commit is written in one transaction.
  Result<void> begin();
  Result<void> commit();

  Result<std::vector<RunRecord>> runs() const;
  Result<std::map<std::string, std::string>> environment(std::int64_t run) const;
  Result<std::vector<CellRecord>> cells(std::int64_t run) const;
  Result<Series> turns(std::int64_t cell) const;
  Result<std::vector<RatioRecord>> ratios(std::int64_t run) const;
  const std::string& path() const { return path_; }

 private:
  struct Lock;
  Store(std::string path, std::unique_ptr<SQLite::Database> database, std::unique_ptr<Lock> lock);
  std::string path_;
  std::unique_ptr<SQLite::Database> database_;
  std::unique_ptr<Lock> lock_;
};

}  // namespace touchstone
