// SPDX-License-Identifier: Apache-2.0
// What every engine did with every case, as a table and as a page.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "column.h"

namespace touchstone {

struct ColumnReport {
  std::string label, version;
  std::vector<CaseResult> results;  // one a case, in the cases' order
  int count(Outcome outcome) const;
};

/// What is known and accepted: `differs` has, by engine, the cases that it answers otherwise and why;
/// `at_least`, by column, how many cases have to pass.
struct Known {
  std::map<std::string, std::map<std::string, std::string>> differs;
  std::map<std::string, int> at_least;
};
Result<Known> read_known(const std::string& path);

/// Totals by engine.
std::string totals_table(const std::vector<ColumnReport>& columns);
/// The page docs/conformance.md: totals, then operator by operator.
std::string conformance_page(const std::vector<Case>& cases, const std::vector<ColumnReport>& columns,
                             const Known& known);
/// What has to make the test fail, one a line: results that differ and are not known, too few passes.
std::vector<std::string> complaints(const std::vector<Case>& cases, const std::vector<ColumnReport>& columns,
                                    const Known& known);

}  // namespace touchstone
