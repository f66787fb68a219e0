// SPDX-License-Identifier: Apache-2.0
// From rows to records.
#include <cstring>
#include <optional>

#include "results/guarded.h"
#include "results/store.h"

namespace touchstone {
namespace {

using nlohmann::json;

std::optional<double> real_or_none(const SQLite::Column& column) {
  return column.isNull() ? std::nullopt : std::optional(column.getDouble());
}

std::optional<std::int64_t> int_or_none(const SQLite::Column& column) {
  return column.isNull() ? std::nullopt : std::optional(column.getInt64());
}

std::vector<std::int64_t> from_blob(const SQLite::Column& column) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(column.getBytes()) / sizeof(std::int64_t));
  if (!values.empty()) {
    std::memcpy(values.data(), column.getBlob(), values.size() * sizeof(std::int64_t));
  }
  return values;
}

}  // namespace

Result<std::vector<RunRecord>> Store::runs() const {
  return guarded(path_, [&] {
    std::vector<RunRecord> records;
    SQLite::Statement s(*database_, "SELECT * FROM run ORDER BY id");
    while (s.executeStep()) {
      RunRecord run;
      run.id = s.getColumn("id").getInt64();
      run.created = s.getColumn("created").getString();
      run.kind = s.getColumn("kind").getString();
      run.model = s.getColumn("model").getString();
      run.bundle = s.getColumn("bundle").getString();
      run.plan_hash = s.getColumn("plan_hash").getString();
      run.plan = s.getColumn("plan").getString();
      run.baseline = s.getColumn("baseline").getString();
      run.version = s.getColumn("version").getString();
      run.status = s.getColumn("status").getString();
      run.precision_target = s.getColumn("precision_target").getDouble();
      run.seed = static_cast<std::uint64_t>(s.getColumn("seed").getInt64());
      run.elapsed_ns = s.getColumn("elapsed_ns").getInt64();
      run.phases_ns =
          json::parse(s.getColumn("phases").getString()).get<std::map<std::string, std::int64_t>>();
      records.push_back(std::move(run));
    }
    return records;
  });
}

Result<std::map<std::string, std::string>> Store::environment(std::int64_t run) const {
  return guarded(path_, [&] {
    std::map<std::string, std::string> entries;
    SQLite::Statement s(*database_, "SELECT key, value FROM environment WHERE run = ?");
    s.bind(1, run);
    while (s.executeStep()) {
      entries[s.getColumn(0).getString()] = s.getColumn(1).getString();
    }
    return entries;
  });
}

Result<std::vector<CellRecord>> Store::cells(std::int64_t run) const {
  return guarded(path_, [&] {
    std::vector<CellRecord> records;
    SQLite::Statement s(*database_, "SELECT * FROM cell WHERE run = ? ORDER BY id");
    s.bind(1, run);
    while (s.executeStep()) {
      CellRecord cell;
      cell.id = s.getColumn("id").getInt64();
      cell.run = run;
      cell.column = s.getColumn("column_label").getString();
      cell.engine = s.getColumn("engine").getString();
      cell.version = s.getColumn("version").getString();
      cell.mode = s.getColumn("mode").getString();
      cell.device = s.getColumn("device").getString();
      cell.precision = s.getColumn("precision").getString();
      cell.shape_mode = s.getColumn("shape_mode").getString();
      cell.threads = s.getColumn("threads").getInt();
      cell.options =
          json::parse(s.getColumn("options").getString()).get<std::map<std::string, std::string>>();
      cell.dimensions =
          json::parse(s.getColumn("dimensions").getString()).get<std::map<std::string, std::int64_t>>();
      cell.batch = s.getColumn("batch").getInt64();
      cell.sequence = s.getColumn("sequence").getInt64();
      cell.state = s.getColumn("state").getString();
      cell.reason = s.getColumn("reason").getString();
      cell.message = s.getColumn("message").getString();
      cell.disturbed = s.getColumn("disturbed").getInt() != 0;
      cell.load_ns = int_or_none(s.getColumn("load_ns"));
      cell.compile_ns = int_or_none(s.getColumn("compile_ns"));
      cell.first_ns = int_or_none(s.getColumn("first_ns"));
      cell.peak_bytes = int_or_none(s.getColumn("peak_bytes"));
      cell.max_error = real_or_none(s.getColumn("max_error"));
      cell.cosine = real_or_none(s.getColumn("cosine"));
      cell.verdict = s.getColumn("verdict").getString();
      cell.median_ns = real_or_none(s.getColumn("median_ns"));
      cell.low_ns = real_or_none(s.getColumn("low_ns"));
      cell.high_ns = real_or_none(s.getColumn("high_ns"));
      cell.across_low_ns = real_or_none(s.getColumn("across_low_ns"));
      cell.across_high_ns = real_or_none(s.getColumn("across_high_ns"));
      cell.p90_ns = real_or_none(s.getColumn("p90_ns"));
      cell.p99_ns = real_or_none(s.getColumn("p99_ns"));
      cell.minimum_ns = real_or_none(s.getColumn("minimum_ns"));
      cell.rounds = s.getColumn("rounds").getInt64();
      cell.samples = s.getColumn("samples").getInt64();
      records.push_back(std::move(cell));
    }
    return records;
  });
}

Result<Series> Store::turns(std::int64_t cell) const {
  return guarded(path_, [&] {
    Series series;
    SQLite::Statement s(*database_, "SELECT * FROM turn WHERE cell = ? ORDER BY id");
    s.bind(1, cell);
    while (s.executeStep()) {
      Turn turn;
      turn.launch = s.getColumn("launch").getInt();
      turn.round = s.getColumn("round").getInt();
      turn.inner = s.getColumn("inner_count").getInt64();
      turn.cpu_ns = s.getColumn("cpu_ns").getInt64();
      turn.wall_ns = s.getColumn("wall_ns").getInt64();
      turn.voluntary = s.getColumn("voluntary").getInt64();
      turn.involuntary = s.getColumn("involuntary").getInt64();
      turn.foreign_share = s.getColumn("foreign_share").getDouble();
      turn.start_ns = s.getColumn("start_ns").getInt64();
      turn.dropped = s.getColumn("dropped").getInt() != 0;
      turn.drop_reason = s.getColumn("drop_reason").getString();
      turn.samples_ns = from_blob(s.getColumn("samples"));
      turn.warm_ns = from_blob(s.getColumn("warm"));
      series.push_back(std::move(turn));
    }
    return series;
  });
}

Result<std::vector<RatioRecord>> Store::ratios(std::int64_t run) const {
  return guarded(path_, [&] {
    std::vector<RatioRecord> records;
    SQLite::Statement s(
        *database_,
        "SELECT ratio.* FROM ratio JOIN cell ON cell.id = ratio.cell WHERE cell.run = ? ORDER BY cell.id");
    s.bind(1, run);
    while (s.executeStep()) {
      RatioRecord ratio;
      ratio.cell = s.getColumn("cell").getInt64();
      ratio.baseline = s.getColumn("baseline").getInt64();
      ratio.ratio = s.getColumn("ratio").getDouble();
      ratio.low = real_or_none(s.getColumn("low"));
      ratio.high = real_or_none(s.getColumn("high"));
      ratio.call = s.getColumn("call").getString();
      ratio.rounds = s.getColumn("rounds").getInt64();
      records.push_back(std::move(ratio));
    }
    return records;
  });
}

}  // namespace touchstone
