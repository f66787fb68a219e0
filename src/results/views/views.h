// SPDX-License-Identifier: Apache-2.0
// Views of a run: each renders stored records as text; one file per view.
#pragma once

#include <string>
#include <vector>

#include "results/records.h"

namespace touchstone {

/// What the views show: one run with its cells and ratios.
struct RunData {
  RunRecord run;
  std::vector<CellRecord> cells;
  std::vector<RatioRecord> ratios;
  std::map<std::string, std::string> environment;
};

/// A row a cell, one column a field; times in milliseconds.
std::string render_csv(const RunData& data);
/// Everything but the samples.
std::string render_json(const RunData& data);
/// The layout of the published tables: one table a length, a row a batch, a column an engine and shape mode;
/// milliseconds.
std::string render_article(const RunData& data);
/// One Markdown table with intervals.
std::string render_table(const RunData& data);
/// The table, and the reasons of what is missing.
std::string render_markdown(const RunData& data);
/// The answer in sentences: who is fastest where, by how much over the baseline, and how well the outputs
/// agree.
std::string render_answer(const RunData& data);

/// Several models: a row each with the mean time of every column over the cells that all of them have, the
/// mean over all, how much faster TorchScript is than eager, and distilled models than their parents.
std::string render_averages(const std::vector<RunData>& runs);

/// What the environment of a run says of a column's generation stands under this and the column's label.
inline constexpr const char* kGenerationFact = "generation.";
/// Of every model whose graphs of generation were both timed: a row a column and shape with the time to the
/// first token, the time per token after it and tokens a second, and what was proven.
std::string render_generation(const std::vector<RunData>& runs);

/// A line for every reason why cells have no time, with its columns and shapes; wrong results apart.
std::string render_missing(const RunData& data);

/// `8.32 ms`, `412 µs`, or the reason of an N/A cell.
std::string cell_text(const CellRecord& cell);
/// `1×8`: the dimensions in the order batch, sequence, others.
std::string shape_text(const CellRecord& cell);
/// The column labels in the order in which they were planned.
std::vector<std::string> columns_of(const RunData& data);

}  // namespace touchstone
