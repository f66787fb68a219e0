// SPDX-License-Identifier: Apache-2.0
#include "live_table.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace touchstone {
namespace {

constexpr std::chrono::milliseconds kRedraw(100);

winsize terminal_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
    size.ws_col = 100;
    size.ws_row = 40;
  }
  return size;
}

// Characters on screen, not bytes: continuation bytes of UTF-8 do not count.
std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string pad(const std::string& text, std::size_t width) {
  const std::size_t wide = display_width(text);
  return wide >= width ? text : std::string(width - wide, ' ') + text;
}

std::string cut(const std::string& text, std::size_t width) {
  if (display_width(text) <= width) {
    return text;
  }
  std::string out;
  std::size_t shown = 0;
  for (const char c : text) {
    shown += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
    if (shown >= width) {
      break;
    }
    out += c;
  }
  return out + "…";
}

std::string duration_text(std::chrono::nanoseconds time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time).count();
  return seconds < 90 ? fmt::format("{} s", seconds)
                      : fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
}

std::string shape_text(const DimensionValues& shape) {
  const auto at = [&](const char* name) {
    const auto found = shape.find(name);
    return found == shape.end() ? std::string() : std::to_string(found->second);
  };
  for (const char* length : {"seq", "past"}) {
    if (shape.size() == 2 && shape.contains("batch") && shape.contains(length)) {
      return at("batch") + "×" + at(length);
    }
  }
  std::vector<std::string> parts;
  for (const auto& [name, value] : shape) {
    parts.push_back(fmt::format("{}={}", name, value));
  }
  return parts.empty() ? "only shape" : fmt::format("{}", fmt::join(parts, " "));
}

std::string cell_text(const CellView& cell) {
  using State = CellView::State;
  switch (cell.state) {
    case State::kNotAvailable:
      return std::string(cell.error ? to_string(cell.error->reason) : "N/A");
    case State::kWaiting:
      return "·";
    case State::kProving:
      return "proving";
    default:
      break;
  }
  const auto text_of = [](double ns) {
    return human_time(std::chrono::nanoseconds(static_cast<std::int64_t>(ns)));
  };
  if (cell.median_ns <= 0) {
    return cell.state == State::kDone ? fmt::format("equal ({:.0e})", cell.max_error)
           : cell.provisional_ns > 0  ? "about " + text_of(cell.provisional_ns)
                                      : "warming";
  }
  const std::string time = text_of(cell.median_ns);
  const char* mark = cell.state == State::kBudget ? "*" : cell.disturbed ? "!" : "";
  return cell.half_width > 0 ? fmt::format("{} ±{:.1f}%{}", time, 100 * cell.half_width, mark) : time + mark;
}

bool is_fastest(const RunView& view, std::size_t shape, std::size_t column) {
  const CellView& cell = view.cells[shape * view.columns.size() + column];
  if (cell.median_ns <= 0 || cell.state == CellView::State::kNotAvailable) {
    return false;
  }
  for (std::size_t other = 0; other < view.columns.size(); ++other) {
    const CellView& rival = view.cells[shape * view.columns.size() + other];
    if (rival.median_ns > 0 && rival.median_ns < cell.median_ns) {
      return false;
    }
  }
  return true;
}

}  // namespace

namespace {

constexpr std::size_t kNarrowest = 9, kWidest = 20;  // of a column, with the space before it

// A grid taller than the screen shows the rows around the one in work. Returns the first and one past the
// last.
std::pair<std::size_t, std::size_t> rows_in_view(const RunView& view, int height) {
  const std::size_t all = view.shapes.size();
  const auto rows = static_cast<std::size_t>(std::max(height, 0));
  if (rows == 0 || all <= rows) {
    return {0, all};
  }
  std::size_t current = 0;
  for (std::size_t i = 0; i < view.cells.size(); ++i) {
    if (view.cells[i].state != CellView::State::kWaiting) {
      current = i / view.columns.size();
    }
  }
  const std::size_t begin = std::min(current + 1 > rows ? current + 1 - rows : 0, all - rows);
  return {begin, begin + rows};
}

std::string row_line(const RunView& view, std::size_t shape, std::size_t columns, std::size_t each,
                     bool colour) {
  std::string line;
  for (std::size_t column = 0; column < columns; ++column) {
    const std::string text =
        pad(cut(cell_text(view.cells[shape * view.columns.size() + column]), each), each);
    line += colour && is_fastest(view, shape, column) ? " \x1b[1;32m" + text + "\x1b[0m" : " " + text;
  }
  return line;
}

}  // namespace

std::vector<std::string> table_lines(const RunView& view, int width, int height, bool colour) {
  std::size_t first = 6;
  for (const DimensionValues& shape : view.shapes) {
    first = std::max(first, display_width(shape_text(shape)));
  }
  const std::size_t room =
      static_cast<std::size_t>(std::max(width, 40)) - std::min<std::size_t>(first, 20) - 1;
  const std::size_t shown = std::min(view.columns.size(), room / kNarrowest);
  const std::size_t each = std::clamp(room / std::max<std::size_t>(shown, 1), kNarrowest, kWidest) - 1;
  std::string head = pad("", first);
  for (std::size_t column = 0; column < shown; ++column) {
    head += " " + pad(cut(view.columns[column], each), each);
  }
  std::vector<std::string> lines = {head};
  const auto [begin, end] = rows_in_view(view, height);
  for (std::size_t shape = begin; shape < end; ++shape) {
    lines.push_back(pad(shape_text(view.shapes[shape]), first) + row_line(view, shape, shown, each, colour));
  }
  if (shown < view.columns.size()) {
    lines.push_back(cut(fmt::format("and {} columns more", view.columns.size() - shown),
                        static_cast<std::size_t>(width)));
  }
  return lines;
}

LiveTable::LiveTable(Verbosity verbosity)
    : verbosity_(verbosity), terminal_(verbosity == Verbosity::kTable && isatty(STDOUT_FILENO) == 1) {}

LiveTable::~LiveTable() {
  std::fflush(stdout);
}

void LiveTable::erase() {
  if (drawn_lines_ > 0) {
    fmt::print("\x1b[{}A\x1b[J", drawn_lines_);
    drawn_lines_ = 0;
  }
}

void LiveTable::draw(const RunView& view, bool final) {
  const winsize size = terminal_size();
  const bool colour = std::getenv("NO_COLOR") == nullptr;
  erase();
  for (const std::string& text : notes_) {
    fmt::print("{}\n", text);
  }
  notes_.clear();
  auto lines = table_lines(view, size.ws_col, final ? 0 : std::max(5, size.ws_row - 6), colour);
  if (!final) {
    const int cells = std::max(10, std::min(40, size.ws_col - 50));
    const int full = static_cast<int>(view.progress * cells);
    std::string bar;
    for (int i = 0; i < cells; ++i) {
      bar += i < full ? "█" : "░";
    }
    lines.push_back(fmt::format("{} {:3.0f} %{}", bar, 100 * view.progress,
                                view.remaining ? "  about " + duration_text(*view.remaining) + " left" : ""));
    lines.push_back(cut(view.activity, size.ws_col));
  }
  for (const std::string& line : lines) {
    fmt::print("{}\n", line);
  }
  drawn_lines_ = final ? 0 : static_cast<int>(lines.size());
  std::fflush(stdout);
}

// The reason of an N/A cell in full, the first time that this column gives it.
std::string LiveTable::why_once(const CellView& cell) {
  const bool first = told_.insert({cell.column, cell.error->message}).second;
  return first ? ": " + cut(cell.error->message, 300) : "";
}

// Away from a terminal: a line for every cell that ends.
void LiveTable::print_changes(const RunView& view) {
  using State = CellView::State;
  printed_.resize(view.cells.size(), State::kWaiting);
  for (std::size_t i = 0; i < view.cells.size(); ++i) {
    const CellView& cell = view.cells[i];
    const bool ended =
        cell.state == State::kDone || cell.state == State::kBudget || cell.state == State::kNotAvailable;
    if (!ended || printed_[i] == cell.state) {
      continue;
    }
    printed_[i] = cell.state;
    if (verbosity_ == Verbosity::kJsonLines) {
      nlohmann::json line = {{"column", view.columns[cell.column]},
                             {"dimensions", view.shapes[cell.shape]},
                             {"median_ns", cell.median_ns},
                             {"interval_ns", {cell.low_ns, cell.high_ns}},
                             {"rounds", cell.rounds},
                             {"max_error", cell.max_error},
                             {"within_target", cell.state == State::kDone},
                             {"progress", view.progress}};
      if (cell.error) {
        line["reason"] = to_string(cell.error->reason);
        line["message"] = cell.error->message;
      }
      fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    } else {
      fmt::print("{:>3.0f} %  {:>8}  {:24} {}{}\n", 100 * view.progress, shape_text(view.shapes[cell.shape]),
                 view.columns[cell.column], cell_text(cell), cell.error ? why_once(cell) : "");
    }
    std::fflush(stdout);
  }
}

void LiveTable::update(const RunView& view) {
  if (verbosity_ == Verbosity::kQuiet) {
    return;
  }
  if (!terminal_) {
    print_changes(view);
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - last_draw_ >= kRedraw) {
    last_draw_ = now;
    draw(view, false);
  }
}

void LiveTable::note(const std::string& text) {
  if (verbosity_ == Verbosity::kQuiet) {
    return;
  }
  if (terminal_) {
    notes_.push_back(text);
  } else if (verbosity_ == Verbosity::kJsonLines) {
    fmt::print("{}\n",
               nlohmann::json{{"note", text}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    fmt::print("{}\n", text);
  }
}

void LiveTable::finish(const RunView& view) {
  if (verbosity_ != Verbosity::kTable) {
    return;
  }
  if (terminal_) {
    draw(view, true);
    return;
  }
  for (const std::string& line : table_lines(view, 140, 0, false)) {
    fmt::print("{}\n", line);
  }
}

}  // namespace touchstone
