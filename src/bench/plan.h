// SPDX-License-Identifier: Apache-2.0
// A plan is the product of axes; nothing here knows how a cell is measured.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace touchstone {

/// `NAME[==VERSION][:MODE]`; version empty is the catalogue's default, mode empty is the engine's first.
struct EngineSelector {
  std::string engine;
  std::string version;
  std::string mode;
  bool operator==(const EngineSelector&) const = default;
};

Result<EngineSelector> parse_engine_selector(std::string_view text);

/// One column of the result table: an engine in a mode under conditions; everything but the shape.
struct Column {
  EngineSelector engine;
  std::string shape_mode = "dynamic";  // `fixed` or `dynamic`
  std::string device = "cpu";
  std::string precision = "f32";
  int threads = 0;  // 0: one per physical core of the CPU set
  std::map<std::string, std::string> options;
  std::string form = {};     // of the model; empty: the one that the engine's manifest names
  std::string variant = {};  // what tells it from another column of the same engine: `tuned`, `threads=1`
  bool operator==(const Column&) const = default;
};

/// `openvino fixed`, `pytorch:torchscript`, `onnxruntime==1.24.1`: unique within a plan, short as can be.
std::string column_label(const Column& column, const std::vector<Column>& among);

/// The values of the model's symbolic dimensions for one row: {"batch": 8, "seq": 64}.
using DimensionValues = std::map<std::string, std::int64_t>;

struct Plan {
  std::string model;  // a zoo name, the path of an .onnx file or of a checkpoint's folder
  std::vector<EngineSelector> engines;
  std::vector<std::string> shape_modes = {"dynamic"};  // engines that know no `fixed` mode get `dynamic` only
  std::vector<std::string> devices = {"cpu"};
  std::vector<std::string> precisions = {"f32"};
  std::vector<int> threads = {0};
  std::map<std::string, std::vector<std::int64_t>>
      dimensions;  // axis name -> values; batch and seq are axes like any
  std::map<std::string, std::map<std::string, std::string>> options;  // engine -> options
  std::vector<Column> columns;  // explicit columns (presets); empty: the product of the axes above

  double precision_target = 0.02;                  // half-width of the interval ÷ median
  std::optional<std::chrono::nanoseconds> budget;  // for the whole run; none: until every cell is done
  std::chrono::nanoseconds cell_timeout = std::chrono::minutes(5);  // longest wait for one answer of a worker
  std::uint64_t memory_limit = 0;  // bytes per worker; 0: 90 % of what the machine has
  std::uint64_t seed = 1;
  std::string inputs;                         // the user's own: .npz, .npy, a folder of ONNX's test data
  std::string expected;                       // the outputs they should give: .npz or .npy
  std::map<std::string, double> tolerances;   // output -> limit; "" is all outputs
  std::map<std::string, std::string> judges;  // output -> largest-error, cosine or top-1
  bool tuned = false;     // beside every column also the engine as `touchstone tune` found it best
  bool generate = false;  // the graphs of generation, prompt and token, in place of the whole
  std::optional<std::int64_t> items;  // rows for which the answer gives the time of all: a thousand images
  int launches = 1;                   // processes per column for the across-launch interval
  std::string baseline;               // a column label; empty: the first column
};

/// Reads a plan file (TOML, the axes of Plan by the names of the command line's flags): one plan for each of
/// its models, in their order; its model is empty where the file names none. Errors: usage, with file and
/// line; unknown keys are errors with the nearest known name.
Result<std::vector<Plan>> read_plans(const std::string& path);

/// `five-engines`, ...: one plan a model, in the order in which they run. Profiles are quick and full (or
/// empty). Errors: usage, unknown name.
Result<std::vector<Plan>> preset_plans(std::string_view name, std::string_view profile);
std::vector<std::string> preset_names();

/// A text that is the same for plans that measure the same cells in the same way; its hash names a run for
/// `--resume`.
std::string canonical_plan(const Plan& plan);

/// `1,2,4` or `1..8` (doubling: 1,2,4,8). Errors: usage; zero and negative values are refused.
Result<std::vector<std::int64_t>> parse_axis(std::string_view name, std::string_view text);
/// `[OUTPUT=]1e-3`: into `plan.tolerances`. Errors: usage, where the limit is no number from 0 on.
Result<void> add_tolerance(Plan& plan, std::string_view text);
/// `[OUTPUT=]largest-error|cosine|top-1`: into `plan.judges`. Errors: usage.
Result<void> add_judge(Plan& plan, std::string_view text);
/// `2%` or `0.02`. Errors: usage, outside (0, 50 %].
Result<double> parse_fraction(std::string_view name, std::string_view text);
/// `90s`, `25m`, `1h30m`, `500ms`. Errors: usage.
Result<std::chrono::nanoseconds> parse_duration(std::string_view name, std::string_view text);
/// `4GB`, `512MiB`. Errors: usage.
Result<std::uint64_t> parse_bytes(std::string_view name, std::string_view text);

}  // namespace touchstone
