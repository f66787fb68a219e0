// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

namespace touchstone {

/// Step n takes a file of version n to version n + 1; the first makes everything.
inline constexpr std::array kMigrations = {R"sql(
CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  created TEXT NOT NULL, kind TEXT NOT NULL, model TEXT NOT NULL, bundle TEXT NOT NULL,
  plan_hash TEXT NOT NULL, plan TEXT NOT NULL, baseline TEXT NOT NULL, version TEXT NOT NULL, status TEXT NOT NULL,
  precision_target REAL NOT NULL, seed INTEGER NOT NULL, elapsed_ns INTEGER NOT NULL, phases TEXT NOT NULL);
CREATE TABLE environment (
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, key TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (run, key)) WITHOUT ROWID;
CREATE TABLE cell (
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  column_label TEXT NOT NULL, engine TEXT NOT NULL, version TEXT NOT NULL, mode TEXT NOT NULL, device TEXT NOT NULL,
  precision TEXT NOT NULL, shape_mode TEXT NOT NULL, threads INTEGER NOT NULL, options TEXT NOT NULL,
  dimensions TEXT NOT NULL, batch INTEGER NOT NULL, sequence INTEGER NOT NULL,
  state TEXT NOT NULL, reason TEXT NOT NULL, message TEXT NOT NULL, disturbed INTEGER NOT NULL,
  load_ns INTEGER, compile_ns INTEGER, first_ns INTEGER, peak_bytes INTEGER,
  max_error REAL, cosine REAL, verdict TEXT NOT NULL,
  median_ns REAL, low_ns REAL, high_ns REAL, across_low_ns REAL, across_high_ns REAL,
  p90_ns REAL, p99_ns REAL, minimum_ns REAL,
  rounds INTEGER NOT NULL, samples INTEGER NOT NULL,
  UNIQUE (run, column_label, dimensions));
CREATE TABLE turn (
  id INTEGER PRIMARY KEY, cell INTEGER NOT NULL REFERENCES cell(id) ON DELETE CASCADE,
  launch INTEGER NOT NULL, round INTEGER NOT NULL, inner_count INTEGER NOT NULL,
  cpu_ns INTEGER NOT NULL, wall_ns INTEGER NOT NULL, voluntary INTEGER NOT NULL, involuntary INTEGER NOT NULL,
  foreign_share REAL NOT NULL, start_ns INTEGER NOT NULL, dropped INTEGER NOT NULL, drop_reason TEXT NOT NULL,
  samples BLOB NOT NULL, warm BLOB NOT NULL);
CREATE INDEX turn_by_cell ON turn(cell);
CREATE TABLE calibration (
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE, at_ns INTEGER NOT NULL, kernel_ns INTEGER NOT NULL);
CREATE TABLE ratio (
  cell INTEGER NOT NULL REFERENCES cell(id) ON DELETE CASCADE, baseline INTEGER NOT NULL REFERENCES cell(id),
  ratio REAL NOT NULL, low REAL, high REAL, call TEXT NOT NULL, rounds INTEGER NOT NULL,
  PRIMARY KEY (cell, baseline)) WITHOUT ROWID;
)sql"};

}  // namespace touchstone
