// SPDX-License-Identifier: Apache-2.0
#include "bench/memory_watch.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <string>

namespace touchstone {
namespace {

constexpr std::chrono::milliseconds kPeriod(100);

std::uint64_t number_in(const std::string& path) {
  std::uint64_t value = 0;
  std::ifstream(path) >> value;
  return value;
}

}  // namespace

std::uint64_t resident_bytes(pid_t pid) {
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  std::ifstream("/proc/" + std::to_string(pid) + "/statm") >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t usable_memory() {
  std::uint64_t usable =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  // Inside a container the limit stands at the root of the mounted hierarchy; a missing file or "max" reads
  // as 0.
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    const std::uint64_t limit = number_in(path);
    if (limit > 0) {
      usable = std::min(usable, limit);
    }
  }
  return usable;
}

void MemoryWatch::add(pid_t pid, std::uint64_t limit) {
  const std::scoped_lock lock(mutex_);
  limits_[pid] = limit;
  killed_.erase(pid);
  if (!thread_.joinable()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  }
}

void MemoryWatch::forget(pid_t pid) {
  const std::scoped_lock lock(mutex_);
  limits_.erase(pid);
}

bool MemoryWatch::killed(pid_t pid) const {
  const std::scoped_lock lock(mutex_);
  return killed_.contains(pid);
}

void MemoryWatch::look() {
  const std::scoped_lock lock(mutex_);
  for (const auto& [pid, limit] : limits_) {
    if (!killed_.contains(pid) && resident_bytes(pid) > limit) {
      killed_.insert(pid);
      kill(pid, SIGKILL);
    }
  }
}

void MemoryWatch::watch(const std::stop_token& stop) {
  // Signals are for the main thread, which looks for them between turns.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::mutex sleeping;
  std::condition_variable_any wake;
  std::unique_lock lock(sleeping);
  while (!stop.stop_requested()) {
    look();
    wake.wait_for(lock, stop, kPeriod, [] { return false; });
  }
}

}  // namespace touchstone
