// SPDX-License-Identifier: Apache-2.0
// Small helpers for messages to people.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace touchstone {

/// The candidate nearest to `word` by edit distance, or empty if none is within a third of its length (at
/// least 2).
std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// ", did you mean 'x'?" or empty: for the end of an error message.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

/// `1.43 ms`, `812 ns`, `2.1 s`: three significant digits in a unit that fits.
std::string human_time(std::chrono::nanoseconds time);
/// `412 MB`, `1.3 GB` (powers of 1000).
std::string human_bytes(std::uint64_t bytes);

}  // namespace touchstone
