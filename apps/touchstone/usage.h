// SPDX-License-Identifier: Apache-2.0
// Mistakes on the command line, told with the nearest word that would have been right.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace touchstone {

/// A check for options that take one of `words`; its message names the nearest.
CLI::Validator one_of(std::vector<std::string> words);

/// What was wrong with the command line, in one line.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace touchstone
