// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "results/views/views.h"

namespace touchstone {
namespace {

// RFC 4180: quoted where it holds a comma, a quotation mark or a line end.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) {
    return text;
  }
  std::string out = "\"";
  for (const char c : text) {
    out += c == '"' ? "\"\"" : std::string(1, c);
  }
  return out + "\"";
}

std::string milliseconds(const std::optional<double>& ns) {
  return ns ? fmt::format("{:.6g}", *ns / 1e6) : "";
}
std::string milliseconds(const std::optional<std::int64_t>& ns) {
  return ns ? fmt::format("{:.6g}", static_cast<double>(*ns) / 1e6) : "";
}

}  // namespace

std::string render_csv(const RunData& data) {
  std::string out =
      "model,engine,version,mode,shape_mode,device,precision,threads,task,batch,sequence_length,latency_ms,"
      "low_ms,high_ms,"
      "across_low_ms,across_high_ms,p90_ms,p99_ms,minimum_ms,rounds,samples,state,reason,max_error,load_ms,"
      "compile_ms,"
      "first_ms,peak_bytes,disturbed,throughput_per_s\n";
  for (const CellRecord& cell : data.cells) {
    out += fmt::format("{},{},{},{},{},{},{},{},inference,{},{},", quoted(data.run.model), cell.engine,
                       quoted(cell.version), cell.mode, cell.shape_mode, cell.device, cell.precision,
                       cell.threads, cell.batch, cell.sequence);
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n",
                       milliseconds(cell.median_ns), milliseconds(cell.low_ns), milliseconds(cell.high_ns),
                       milliseconds(cell.across_low_ns), milliseconds(cell.across_high_ns),
                       milliseconds(cell.p90_ns), milliseconds(cell.p99_ns), milliseconds(cell.minimum_ns),
                       cell.rounds, cell.samples, cell.state, cell.reason,
                       cell.max_error ? fmt::format("{:.3g}", *cell.max_error) : "",
                       milliseconds(cell.load_ns), milliseconds(cell.compile_ns), milliseconds(cell.first_ns),
                       cell.peak_bytes ? std::to_string(*cell.peak_bytes) : "", cell.disturbed ? 1 : 0,
                       cell.throughput() ? fmt::format("{:.6g}", *cell.throughput()) : "");
  }
  return out;
}

}  // namespace touchstone
