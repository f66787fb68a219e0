// SPDX-License-Identifier: Apache-2.0
// Values of flags and plan files: lists, fractions, durations, sizes.
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "bench/plan.h"
#include "reference/verdict.h"

namespace touchstone {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(at + 1);
  }
}

template <class T>
bool parse_whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

Result<std::int64_t> parse_positive(std::string_view name, std::string_view text) {
  std::int64_t value = 0;
  if (!parse_whole(text, value)) {
    return fail(Reason::kUsage, "{}: '{}' is not a whole number; expected values such as 1,2,4 or 1..8", name,
                text);
  }
  if (value < 1) {
    return fail(Reason::kUsage, "{}: {} is not possible; a dimension is 1 or more", name, value);
  }
  return value;
}

// A number followed by a unit: `1.5GB` gives 1.5 and "GB".
bool split_unit(std::string_view text, double& value, std::string_view& unit) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) {
    return false;
  }
  unit = text.substr(static_cast<std::size_t>(end - text.data()));
  return true;
}

// `[OUTPUT=]WORD`; names of outputs may hold the sign themselves.
std::pair<std::string, std::string> split_output(std::string_view text) {
  const std::size_t at = text.rfind('=');
  return at == std::string_view::npos
             ? std::pair(std::string(), std::string(text))
             : std::pair(std::string(text.substr(0, at)), std::string(text.substr(at + 1)));
}

std::optional<double> nanoseconds_of(std::string_view unit) {
  if (unit == "ms") {
    return 1e6;
  }
  if (unit == "s") {
    return 1e9;
  }
  if (unit == "m" || unit == "min") {
    return 60e9;
  }
  if (unit == "h") {
    return 3600e9;
  }
  return std::nullopt;
}

std::optional<double> bytes_of(std::string_view unit) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1},          {"B", 1},           {"kB", 1e3},        {"MB", 1e6},           {"GB", 1e9},
      {"TB", 1e12},     {"KiB", 1024.0},    {"MiB", 1048576.0}, {"GiB", 1073741824.0}, {"K", 1024.0},
      {"M", 1048576.0}, {"G", 1073741824.0}};
  for (const auto& [word, factor] : kUnits) {
    if (word == unit) {
      return factor;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<std::int64_t>> parse_axis(std::string_view name, std::string_view text) {
  std::vector<std::int64_t> values;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dots = part.find("..");
    if (dots == std::string_view::npos) {
      TOUCHSTONE_ASSIGN(const std::int64_t value, parse_positive(name, part));
      values.push_back(value);
      continue;
    }
    TOUCHSTONE_ASSIGN(const std::int64_t low, parse_positive(name, part.substr(0, dots)));
    TOUCHSTONE_ASSIGN(const std::int64_t high, parse_positive(name, part.substr(dots + 2)));
    if (low > high) {
      return fail(Reason::kUsage, "{}: the range {} runs backwards", name, part);
    }
    for (std::int64_t value = low; value < high; value *= 2) {
      values.push_back(value);
      if (value > std::numeric_limits<std::int64_t>::max() / 2) {
        break;
      }
    }
    values.push_back(high);
  }
  return values;
}

Result<double> parse_fraction(std::string_view name, std::string_view text) {
  double value = 0;
  std::string_view unit;
  if (!split_unit(text, value, unit) || (unit != "%" && !unit.empty())) {
    return fail(Reason::kUsage, "{}: '{}' is not a fraction; expected 2% or 0.02", name, text);
  }
  if (unit == "%") {
    value /= 100;
  }
  if (value <= 0 || value > 0.5) {
    return fail(Reason::kUsage, "{}: {} is outside 0 to 50 %", name, text);
  }
  return value;
}

Result<std::chrono::nanoseconds> parse_duration(std::string_view name, std::string_view text) {
  double total = 0;
  std::string_view rest = text;
  do {
    double value = 0;
    std::string_view tail;
    const bool numeric = split_unit(rest, value, tail);
    const std::size_t letters = std::min(tail.find_first_of("0123456789."), tail.size());
    const std::optional<double> factor = nanoseconds_of(tail.substr(0, letters));
    if (!numeric || !factor) {
      return fail(Reason::kUsage, "{}: '{}' is not a duration; expected 90s, 25m, 1h30m or 500ms", name,
                  text);
    }
    total += value * *factor;
    rest = tail.substr(letters);
  } while (!rest.empty());
  if (total <= 0 || total > 9e18) {
    return fail(Reason::kUsage, "{}: {} is not a possible duration", name, text);
  }
  return std::chrono::nanoseconds(static_cast<std::int64_t>(total));
}

Result<std::uint64_t> parse_bytes(std::string_view name, std::string_view text) {
  double value = 0;
  std::string_view unit;
  const bool numeric = split_unit(text, value, unit);
  const std::optional<double> factor = numeric ? bytes_of(unit) : std::nullopt;
  if (!factor || value * *factor < 1 || value * *factor > 9e18) {
    return fail(Reason::kUsage, "{}: '{}' is not a size; expected 4GB or 512MiB", name, text);
  }
  return static_cast<std::uint64_t>(value * *factor);
}

Result<void> add_tolerance(Plan& plan, std::string_view text) {
  const auto [output, word] = split_output(text);
  double limit = 0;
  std::string_view unit;
  if (!split_unit(word, limit, unit) || (!unit.empty() && unit != "%")) {
    return fail(Reason::kUsage,
                "--tolerance: '{}' should be a number from 0 on, or OUTPUT=NUMBER, such as 1e-3", text);
  }
  plan.tolerances[output] = unit.empty() ? limit : limit / 100;
  return {};
}

Result<void> add_judge(Plan& plan, std::string_view text) {
  const auto [output, word] = split_output(text);
  if (!judged_by(word)) {
    const std::vector<std::string> known = {"largest-error", "cosine", "top-1"};
    return fail(Reason::kUsage, "--judge: '{}' is not known{}; known: {}", word, did_you_mean(word, known),
                fmt::join(known, ", "));
  }
  plan.judges[output] = word;
  return {};
}

}  // namespace touchstone
