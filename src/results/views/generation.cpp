// SPDX-License-Identifier: Apache-2.0
// Generation: the time to the first token, and tokens a second after it.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "results/views/views.h"

namespace touchstone {
namespace {

const CellRecord* cell_like(const RunData& run, const CellRecord& wanted) {
  const auto found = std::find_if(run.cells.begin(), run.cells.end(), [&](const CellRecord& cell) {
    return cell.column == wanted.column && cell.batch == wanted.batch && cell.sequence == wanted.sequence;
  });
  return found == run.cells.end() ? nullptr : &*found;
}

std::string spread_text(const CellRecord& cell) {
  if (!cell.low_ns || !cell.high_ns || !cell.median_ns) {
    return "";
  }
  return fmt::format(" ±{:.1f} %", 50 * (*cell.high_ns - *cell.low_ns) / *cell.median_ns);
}

std::string time_text(const CellRecord& cell) {
  return cell.state == "na" ? cell_text(cell) : cell_text(cell) + spread_text(cell);
}

// The whole batch's, as an inference gives a token to each of its texts.
std::string rate_text(const CellRecord& cell) {
  const auto rate = cell.state == "na" ? std::nullopt : cell.throughput();
  return rate ? fmt::format("{:.1f}", *rate) : "";
}

std::string table_of(const std::string& model, const RunData& prefill, const RunData& decode) {
  std::string out = fmt::format(
      "{}\n\n| texts | prompt, context | engine | time to first token | time per token | tokens/s |\n"
      "| ---: | ---: | --- | ---: | ---: | ---: |\n",
      model);
  for (const CellRecord& first : prefill.cells) {
    if (const CellRecord* next = cell_like(decode, first)) {
      out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", first.batch, first.sequence, first.column,
                         time_text(first), time_text(*next), rate_text(*next));
    }
  }
  out += "\n";
  for (const auto& [fact, text] : decode.environment) {
    if (const std::string column = std::string(kGenerationFact); fact.starts_with(column)) {
      out += fmt::format("{}: {}.\n", fact.substr(column.size()), text);
    }
  }
  return out;
}

}  // namespace

std::string render_generation(const std::vector<RunData>& runs) {
  const std::string prompt = ":prefill";
  std::string out;
  for (const RunData& prefill : runs) {
    if (!prefill.run.model.ends_with(prompt)) {
      continue;
    }
    const std::string model = prefill.run.model.substr(0, prefill.run.model.size() - prompt.size());
    const auto decode = std::find_if(runs.begin(), runs.end(),
                                     [&](const RunData& run) { return run.run.model == model + ":decode"; });
    if (decode != runs.end()) {
      out += (out.empty() ? "" : "\n") + table_of(model, prefill, *decode);
    }
  }
  if (out.empty()) {
    return "no model of this file was run with --generate\n";
  }
  return out +
         "\nTime to first token: the whole prompt at once, up to the logits of its last token. Time per "
         "token: "
         "one token a text, its keys and values behind a context as long as the prompt; medians and "
         "half-widths "
         "of 95 % intervals. Tokens/s: of all texts together.\n";
}

}  // namespace touchstone
