// SPDX-License-Identifier: Apache-2.0
#include "results/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "results/guarded.h"
#include "results/schema.h"

namespace touchstone {
namespace {

using nlohmann::json;

template <class T>
void bind_optional(SQLite::Statement& statement, const char* name, const std::optional<T>& value) {
  if (value) {
    statement.bind(name, *value);
  } else {
    statement.bind(name);
  }
}

void bind_blob(SQLite::Statement& statement, const char* name, const std::vector<std::int64_t>& values) {
  // A null pointer would bind NULL instead of an empty blob.
  const void* data = values.empty() ? static_cast<const void*>("") : values.data();
  statement.bind(name, data, static_cast<int>(values.size() * sizeof(std::int64_t)));
}

Result<void> check_version(const std::string& path, int version) {
  if (version > kSchemaVersion) {
    return fail(Reason::kStorage,
                "{}: was written by a newer Touchstone (schema {}, this one knows {}); use that version, or "
                "another file",
                path, version, kSchemaVersion);
  }
  return {};
}

Result<void> migrate(SQLite::Database& database, const std::string& path) {
  const int version = database.execAndGet("PRAGMA user_version").getInt();
  TOUCHSTONE_TRY(check_version(path, version));
  if (version == 0 && database.execAndGet("SELECT count(*) FROM sqlite_master").getInt() > 0) {
    return fail(Reason::kStorage, "{}: is an SQLite file, but not one of Touchstone's results", path);
  }
  for (int step = version; step < kSchemaVersion; ++step) {
    SQLite::Transaction transaction(database);
    database.exec(kMigrations[static_cast<std::size_t>(step)]);
    database.exec(fmt::format("PRAGMA user_version = {}", step + 1));
    transaction.commit();
  }
  return {};
}

}  // namespace

/// Held for as long as a run writes: a lock on a file beside the results, which holds the process id.
struct Store::Lock {
  int descriptor = -1;
  std::string path;
  ~Lock() {
    if (descriptor >= 0) {
      unlink(path.c_str());
      close(descriptor);
    }
  }
  /// Whether the locked file is still the one of that name: its last holder removes it.
  bool current() const {
    struct stat held {};
    struct stat named {};
    return fstat(descriptor, &held) == 0 && stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
  }
  static Result<std::unique_ptr<Lock>> take(const std::string& results) {
    while (true) {
      TOUCHSTONE_ASSIGN(auto lock, try_to_take(results));
      if (lock->current()) {
        return lock;
      }
      close(std::exchange(lock->descriptor, -1));
    }
  }

 private:
  static Result<std::unique_ptr<Lock>> try_to_take(const std::string& results) {
    auto lock = std::make_unique<Lock>();
    lock->path = results + "-lock";
    const int descriptor = open(lock->path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0) {
      return fail(Reason::kStorage, "{}: cannot be written: {}; choose another place with -o", results,
                  strerror(errno));
    }
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      char text[32] = {};
      [[maybe_unused]] const auto got = pread(descriptor, text, sizeof text - 1, 0);
      close(descriptor);
      return fail(Reason::kStorage,
                  "{}: another run (process {}) is writing to it; wait for it, or choose another file "
                  "with -o",
                  results, text[0] == '\0' ? "unknown" : text);
    }
    lock->descriptor = descriptor;
    const std::string pid = std::to_string(getpid());
    [[maybe_unused]] const auto cut = ftruncate(descriptor, 0);
    [[maybe_unused]] const auto put = pwrite(descriptor, pid.data(), pid.size(), 0);
    return lock;
  }
};

Store::Store(std::string path, std::unique_ptr<SQLite::Database> database, std::unique_ptr<Lock> lock)
    : path_(std::move(path)), database_(std::move(database)), lock_(std::move(lock)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open_for_writing(const std::string& path) {
  TOUCHSTONE_ASSIGN(auto lock, Lock::take(path));
  std::unique_ptr<SQLite::Database> database;
  auto opened = guarded(path, [&] {
    database = std::make_unique<SQLite::Database>(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, 5000);
    database->exec("PRAGMA foreign_keys = ON; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
  });
  TOUCHSTONE_TRY(opened);
  const auto migrated = guarded(path, [&] { return migrate(*database, path); });
  TOUCHSTONE_TRY(migrated);
  TOUCHSTONE_TRY(*migrated);
  return Store(path, std::move(database), std::move(lock));
}

Result<Store> Store::open_for_reading(const std::string& path) {
  if (!std::filesystem::exists(path)) {
    return fail(Reason::kStorage, "{}: there is no such file; `touchstone run` writes one", path);
  }
  std::unique_ptr<SQLite::Database> database;
  const auto version = guarded(path, [&] {
    database = std::make_unique<SQLite::Database>(path, SQLite::OPEN_READONLY, 5000);
    return database->execAndGet("PRAGMA user_version").getInt();
  });
  if (!version) {
    return tl::unexpected(version.error());
  }
  TOUCHSTONE_TRY(check_version(path, *version));
  if (*version == 0) {
    return fail(Reason::kStorage, "{}: is not a results file", path);
  }
  return Store(path, std::move(database), nullptr);
}

Result<void> Store::begin() {
  return guarded(path_, [&] { database_->exec("BEGIN IMMEDIATE"); });
}
Result<void> Store::commit() {
  return guarded(path_, [&] { database_->exec("COMMIT"); });
}

Result<void> Store::put_run(RunRecord& run) {
  return guarded(path_, [&] {
    SQLite::Statement statement(*database_, R"sql(
      INSERT INTO run VALUES (:id, :created, :kind, :model, :bundle, :plan_hash, :plan, :baseline, :version, :status,
                              :precision_target, :seed, :elapsed_ns, :phases)
      ON CONFLICT (id) DO UPDATE SET status = excluded.status, elapsed_ns = excluded.elapsed_ns,
                                     phases = excluded.phases, baseline = excluded.baseline)sql");
    bind_optional(statement, ":id", run.id == 0 ? std::nullopt : std::optional(run.id));
    statement.bind(":created", run.created);
    statement.bind(":kind", run.kind);
    statement.bind(":model", run.model);
    statement.bind(":bundle", run.bundle);
    statement.bind(":plan_hash", run.plan_hash);
    statement.bind(":plan", run.plan);
    statement.bind(":baseline", run.baseline);
    statement.bind(":version", run.version);
    statement.bind(":status", run.status);
    statement.bind(":precision_target", run.precision_target);
    statement.bind(":seed", static_cast<std::int64_t>(run.seed));
    statement.bind(":elapsed_ns", run.elapsed_ns);
    statement.bind(":phases", json(run.phases_ns).dump());
    statement.exec();
    if (run.id == 0) {
      run.id = database_->getLastInsertRowid();
    }
  });
}

Result<void> Store::put_environment(std::int64_t run, const std::map<std::string, std::string>& entries) {
  return guarded(path_, [&] {
    SQLite::Statement statement(*database_, "INSERT OR REPLACE INTO environment VALUES (?, ?, ?)");
    for (const auto& [key, value] : entries) {
      statement.bind(1, run);
      statement.bind(2, key);
      statement.bind(3, value);
      statement.exec();
      statement.reset();
    }
  });
}

Result<void> Store::put_cell(CellRecord& cell) {
  return guarded(path_, [&] {
    SQLite::Statement s(*database_, R"sql(
      INSERT INTO cell VALUES (:id, :run, :column, :engine, :version, :mode, :device, :precision, :shape_mode,
        :threads, :options, :dimensions, :batch, :sequence, :state, :reason, :message, :disturbed, :load, :compile,
        :first, :peak, :max_error, :cosine, :verdict, :median, :low, :high, :across_low, :across_high, :p90, :p99,
        :minimum, :rounds, :samples)
      ON CONFLICT (id) DO UPDATE SET version = excluded.version, threads = excluded.threads, options = excluded.options, state =
        excluded.state, reason = excluded.reason, message = excluded.message, disturbed =
        excluded.disturbed, load_ns = excluded.load_ns, compile_ns = excluded.compile_ns, first_ns =
        excluded.first_ns, peak_bytes = excluded.peak_bytes, max_error = excluded.max_error, cosine =
        excluded.cosine, verdict = excluded.verdict, median_ns = excluded.median_ns, low_ns =
        excluded.low_ns, high_ns = excluded.high_ns, across_low_ns = excluded.across_low_ns, across_high_ns
        = excluded.across_high_ns, p90_ns = excluded.p90_ns, p99_ns = excluded.p99_ns, minimum_ns =
        excluded.minimum_ns, rounds = excluded.rounds, samples = excluded.samples)sql");
    bind_optional(s, ":id", cell.id == 0 ? std::nullopt : std::optional(cell.id));
    s.bind(":run", cell.run);
    s.bind(":column", cell.column);
    s.bind(":engine", cell.engine);
    s.bind(":version", cell.version);
    s.bind(":mode", cell.mode);
    s.bind(":device", cell.device);
    s.bind(":precision", cell.precision);
    s.bind(":shape_mode", cell.shape_mode);
    s.bind(":threads", cell.threads);
    s.bind(":options", json(cell.options).dump());
    s.bind(":dimensions", json(cell.dimensions).dump());
    s.bind(":batch", cell.batch);
    s.bind(":sequence", cell.sequence);
    s.bind(":state", cell.state);
    s.bind(":reason", cell.reason);
    s.bind(":message", cell.message);
    s.bind(":disturbed", cell.disturbed ? 1 : 0);
    bind_optional(s, ":load", cell.load_ns);
    bind_optional(s, ":compile", cell.compile_ns);
    bind_optional(s, ":first", cell.first_ns);
    bind_optional(s, ":peak", cell.peak_bytes);
    bind_optional(s, ":max_error", cell.max_error);
    bind_optional(s, ":cosine", cell.cosine);
    s.bind(":verdict", cell.verdict);
    bind_optional(s, ":median", cell.median_ns);
    bind_optional(s, ":low", cell.low_ns);
    bind_optional(s, ":high", cell.high_ns);
    bind_optional(s, ":across_low", cell.across_low_ns);
    bind_optional(s, ":across_high", cell.across_high_ns);
    bind_optional(s, ":p90", cell.p90_ns);
    bind_optional(s, ":p99", cell.p99_ns);
    bind_optional(s, ":minimum", cell.minimum_ns);
    s.bind(":rounds", cell.rounds);
    s.bind(":samples", cell.samples);
    s.exec();
    if (cell.id == 0) {
      cell.id = database_->getLastInsertRowid();
    }
  });
}

Result<void> Store::add_turn(std::int64_t cell, const Turn& turn) {
  return guarded(path_, [&] {
    SQLite::Statement s(*database_, R"sql(
      INSERT INTO turn VALUES (NULL, :cell, :launch, :round, :inner, :cpu, :wall, :voluntary, :involuntary, :foreign,
                               :start, :dropped, :reason, :samples, :warm))sql");
    s.bind(":cell", cell);
    s.bind(":launch", turn.launch);
    s.bind(":round", turn.round);
    s.bind(":inner", turn.inner);
    s.bind(":cpu", turn.cpu_ns);
    s.bind(":wall", turn.wall_ns);
    s.bind(":voluntary", turn.voluntary);
    s.bind(":involuntary", turn.involuntary);
    s.bind(":foreign", turn.foreign_share);
    s.bind(":start", turn.start_ns);
    s.bind(":dropped", turn.dropped ? 1 : 0);
    s.bind(":reason", turn.drop_reason);
    bind_blob(s, ":samples", turn.samples_ns);
    bind_blob(s, ":warm", turn.warm_ns);
    s.exec();
  });
}

Result<std::int64_t> Store::last_turn() const {
  return guarded(path_,
                 [&] { return database_->execAndGet("SELECT coalesce(max(id), 0) FROM turn").getInt64(); });
}

Result<void> Store::set_aside_turns(std::int64_t cell, std::int64_t after, std::int64_t up_to,
                                    const std::string& reason) {
  return guarded(path_, [&] {
    SQLite::Statement s(
        *database_,
        "UPDATE turn SET dropped = 1, drop_reason = :reason WHERE cell = :cell AND id > :after "
        "AND id <= :up_to AND NOT dropped");
    s.bind(":reason", reason);
    s.bind(":cell", cell);
    s.bind(":after", after);
    s.bind(":up_to", up_to);
    s.exec();
  });
}

Result<void> Store::add_calibration(std::int64_t run, std::int64_t at_ns, std::int64_t kernel_ns) {
  return guarded(path_, [&] {
    SQLite::Statement s(*database_, "INSERT INTO calibration VALUES (?, ?, ?)");
    s.bind(1, run);
    s.bind(2, at_ns);
    s.bind(3, kernel_ns);
    s.exec();
  });
}

Result<void> Store::put_ratio(const RatioRecord& ratio) {
  return guarded(path_, [&] {
    SQLite::Statement s(
        *database_,
        "INSERT OR REPLACE INTO ratio VALUES (:cell, :baseline, :ratio, :low, :high, :call, :rounds)");
    s.bind(":cell", ratio.cell);
    s.bind(":baseline", ratio.baseline);
    s.bind(":ratio", ratio.ratio);
    bind_optional(s, ":low", ratio.low);
    bind_optional(s, ":high", ratio.high);
    s.bind(":call", ratio.call);
    s.bind(":rounds", ratio.rounds);
    s.exec();
  });
}

}  // namespace touchstone
