// SPDX-License-Identifier: Apache-2.0
// The timing loop. Between the two clock reads of a sample stands the engine's call and nothing else.
#pragma once

#include "worker/engine.h"
#include "worker/protocol.h"

namespace touchstone {

/// CLOCK_MONOTONIC in nanoseconds.
std::int64_t now_ns();

/// One turn: untimed inferences first, then samples until the request's limits say stop.
/// Errors: what the engine's infer or synchronize returned.
Result<MeasureReply> run_turn(Engine& engine, const MeasureRequest& request);

/// One inference, timed like a sample.
Result<std::int64_t> time_one(Engine& engine, std::int64_t inner = 1);

}  // namespace touchstone
