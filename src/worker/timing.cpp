// SPDX-License-Identifier: Apache-2.0
#include "worker/timing.h"

#include <sys/resource.h>
#include <time.h>

namespace touchstone {
namespace {

std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Room for the samples of any sensible turn, so that the loop never allocates; a turn of more simply ends.
constexpr std::int64_t kMostSamples = 1 << 20;

}  // namespace

std::int64_t now_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

Result<std::int64_t> time_one(Engine& engine, std::int64_t inner) {
  const std::int64_t begin = now_ns();
  for (std::int64_t i = 0; i < inner; ++i) {
    if (auto done = engine.infer(); !done) [[unlikely]] {
      return tl::unexpected(done.error());
    }
    if (auto done = engine.synchronize(); !done) [[unlikely]] {
      return tl::unexpected(done.error());
    }
  }
  return (now_ns() - begin) / inner;
}

Result<MeasureReply> run_turn(Engine& engine, const MeasureRequest& request) {
  MeasureReply reply;
  reply.inner = request.inner;
  const std::int64_t warm_end = now_ns() + request.warm_max_ns;
  for (std::int64_t i = 0; i < request.warm_max_count && (i == 0 || now_ns() < warm_end); ++i) {
    TOUCHSTONE_ASSIGN(const std::int64_t sample, time_one(engine));
    reply.warm_ns.push_back(sample);
  }
  const std::int64_t most = std::min(request.max_count, kMostSamples);
  reply.samples_ns.reserve(static_cast<std::size_t>(most));
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  const std::int64_t cpu_before = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  reply.start_ns = now_ns();
  for (std::int64_t count = 0; count < most; ++count) {
    const std::int64_t elapsed = now_ns() - reply.start_ns;
    const bool enough = count >= request.min_count && elapsed >= request.min_ns;
    const bool late = count > 0 && request.max_ns > 0 && elapsed >= request.max_ns;
    if (enough || late) {
      break;
    }
    TOUCHSTONE_ASSIGN(const std::int64_t sample, time_one(engine, request.inner));
    reply.samples_ns.push_back(sample);
  }
  reply.end_ns = now_ns();
  reply.cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_before;
  reply.wall_ns = reply.end_ns - reply.start_ns;
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  reply.voluntary = after.ru_nvcsw - before.ru_nvcsw;
  reply.involuntary = after.ru_nivcsw - before.ru_nivcsw;
  return reply;
}

}  // namespace touchstone
