// SPDX-License-Identifier: Apache-2.0
// What a person sees while a run goes on: a table that fills, a bar, the time left. Redrawn in place on a
// terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "bench/run.h"

namespace touchstone {

enum class Verbosity { kTable, kQuiet, kJsonLines };

class LiveTable final : public RunObserver {
 public:
  explicit LiveTable(Verbosity verbosity);
  ~LiveTable() override;
  void update(const RunView& view) override;
  void note(const std::string& text) override;
  /// Draws the final table, without the bar.
  void finish(const RunView& view);

 private:
  void draw(const RunView& view, bool final);
  void print_changes(const RunView& view);
  void erase();
  std::string why_once(const CellView& cell);

  Verbosity verbosity_;
  bool terminal_;
  int drawn_lines_ = 0;
  std::chrono::steady_clock::time_point last_draw_{};
  std::vector<std::string> notes_;
  std::vector<CellView::State> printed_;
  std::set<std::pair<std::size_t, std::string>> told_;  // column and reason
};

/// The table alone, at most `width` columns of text wide. `colour`: with ANSI colours.
std::vector<std::string> table_lines(const RunView& view, int width, int height, bool colour);

}  // namespace touchstone
