// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "results/views/views.h"

namespace touchstone {
namespace {

using nlohmann::json;

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

json cell_json(const CellRecord& cell) {
  return {{"column", cell.column},
          {"engine", cell.engine},
          {"version", cell.version},
          {"mode", cell.mode},
          {"device", cell.device},
          {"precision", cell.precision},
          {"shape_mode", cell.shape_mode},
          {"threads", cell.threads},
          {"options", cell.options},
          {"dimensions", cell.dimensions},
          {"batch", cell.batch},
          {"sequence_length", cell.sequence},
          {"state", cell.state},
          {"reason", cell.reason},
          {"message", cell.message},
          {"disturbed", cell.disturbed},
          {"load_ns", or_null(cell.load_ns)},
          {"compile_ns", or_null(cell.compile_ns)},
          {"first_ns", or_null(cell.first_ns)},
          {"peak_bytes", or_null(cell.peak_bytes)},
          {"max_error", or_null(cell.max_error)},
          {"cosine", or_null(cell.cosine)},
          {"verdict", cell.verdict},
          {"median_ns", or_null(cell.median_ns)},
          {"interval_ns", {or_null(cell.low_ns), or_null(cell.high_ns)}},
          {"across_launches_ns", {or_null(cell.across_low_ns), or_null(cell.across_high_ns)}},
          {"p90_ns", or_null(cell.p90_ns)},
          {"p99_ns", or_null(cell.p99_ns)},
          {"minimum_ns", or_null(cell.minimum_ns)},
          {"throughput_per_s", or_null(cell.throughput())},
          {"rounds", cell.rounds},
          {"samples", cell.samples}};
}

}  // namespace

std::string render_json(const RunData& data) {
  json cells = json::array();
  for (const CellRecord& cell : data.cells) {
    cells.push_back(cell_json(cell));
  }
  json ratios = json::array();
  for (const RatioRecord& ratio : data.ratios) {
    const auto column = [&](std::int64_t id) {
      for (const CellRecord& cell : data.cells) {
        if (cell.id == id) {
          return json{{"column", cell.column}, {"dimensions", cell.dimensions}};
        }
      }
      return json();
    };
    ratios.push_back({{"cell", column(ratio.cell)},
                      {"baseline", column(ratio.baseline)},
                      {"ratio", ratio.ratio},
                      {"interval", {or_null(ratio.low), or_null(ratio.high)}},
                      {"call", ratio.call},
                      {"rounds", ratio.rounds}});
  }
  const json run = {{"created", data.run.created},     {"kind", data.run.kind},
                    {"model", data.run.model},         {"bundle", data.run.bundle},
                    {"baseline", data.run.baseline},   {"touchstone", data.run.version},
                    {"status", data.run.status},       {"precision_target", data.run.precision_target},
                    {"seed", data.run.seed},           {"elapsed_ns", data.run.elapsed_ns},
                    {"phases_ns", data.run.phases_ns}, {"plan", json::parse(data.run.plan, nullptr, false)}};
  return json{{"run", run}, {"environment", data.environment}, {"cells", cells}, {"ratios", ratios}}.dump(
             1, ' ', false, json::error_handler_t::replace) +
         "\n";
}

}  // namespace touchstone
