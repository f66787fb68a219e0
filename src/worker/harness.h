// SPDX-License-Identifier: Apache-2.0
// The main function of every C++ worker.
#pragma once

#include "worker/engine.h"

namespace touchstone {

/// What a worker's command line gave.
struct WorkerArguments {
  std::string sdk;
};

/// Makes the engine from the command line; errors become the answer to `hello` (engine-missing).
using MakeEngine = Result<std::unique_ptr<Engine>> (*)(const WorkerArguments& arguments);

/// Speaks the protocol on descriptor 3 until `bye` or the end of the channel. Returns the exit code.
/// `name` is the engine's, for messages.
int run_worker(int argc, char** argv, const std::string& name, MakeEngine make);

}  // namespace touchstone
