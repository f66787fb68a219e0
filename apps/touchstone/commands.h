// SPDX-License-Identifier: Apache-2.0
// One function a subcommand: adds it to the command line and runs when it was chosen.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

#include "base/result.h"
#include "bench/run.h"

namespace touchstone {

/// Exit codes, documented in docs/exit-codes.md. An N/A cell is not a failure of the program.
enum ExitCode : int { kDone = 0, kFailed = 1, kUsageError = 2, kDifferent = 3, kInterruptedExit = 130 };

/// What a chosen subcommand does; set by add_*.
using Action = std::function<int()>;

void add_run(CLI::App& app, Action& action);
void add_tune(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_engines(CLI::App& app, Action& action);
void add_models(CLI::App& app, Action& action);
void add_show(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);

/// Prints an error to standard error and returns its exit code.
int report(const Error& error);

/// Where things are; `home` (from --home) wins where it is not empty.
Installation installation_at(const std::string& home);

}  // namespace touchstone
