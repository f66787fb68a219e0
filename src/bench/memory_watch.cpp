// SPDX-License-Identifier: Apache-2.0
#include "bench/memory_watch.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <string>

namespace touchstone {
namespace {

constexpr std::chrono::milliseconds kPeriod(100);
// Below this share of the machine's memory it is full. A process that reads a large model takes some 5 GB a
// second: with half of this left, the kernel was at times there first.
constexpr double kFullShare = 0.04;

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

std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::uint64_t kilobytes = 0;
  for (std::string unit; file >> key >> kilobytes; std::getline(file, unit)) {
    if (key == "MemAvailable:") {
      return kilobytes * 1024;
    }
  }
  return UINT64_MAX;
}

std::uint64_t kernel_memory_kills() {
  std::ifstream file("/proc/vmstat");
  std::string key;
  for (std::uint64_t count = 0; file >> key >> count;) {
    if (key == "oom_kill") {
      return count;
    }
  }
  return 0;
}

MemoryWatch::MemoryWatch(std::function<std::uint64_t()> available) : available_(std::move(available)) {}

void MemoryWatch::add(pid_t pid, std::uint64_t limit) {
  const std::scoped_lock lock(mutex_);
  limits_[pid] = limit;
  std::erase(order_, pid);
  order_.push_back(pid);
  killed_.erase(pid);
  if (!thread_.joinable()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  }
}

void MemoryWatch::forget(pid_t pid) {
  const std::scoped_lock lock(mutex_);
  limits_.erase(pid);
  std::erase(order_, pid);
}

std::optional<MemoryWatch::Cause> MemoryWatch::killed(pid_t pid) const {
  const std::scoped_lock lock(mutex_);
  const auto found = killed_.find(pid);
  return found == killed_.end() ? std::nullopt : std::optional(found->second);
}

void MemoryWatch::end(pid_t pid, Cause cause) {
  killed_.emplace(pid, cause);
  kill(pid, SIGKILL);
}

void MemoryWatch::look() {
  const std::scoped_lock lock(mutex_);
  for (const auto& [pid, limit] : limits_) {
    if (!killed_.contains(pid) && resident_bytes(pid) > limit) {
      end(pid, Cause::kOwnLimit);
    }
  }
  // One at a time: the memory of one that was killed is free only when it is forgotten.
  const bool ending =
      std::any_of(order_.begin(), order_.end(), [&](pid_t pid) { return killed_.contains(pid); });
  if (!ending && !order_.empty() &&
      static_cast<double>(available_()) < kFullShare * static_cast<double>(usable_memory())) {
    end(order_.back(), Cause::kMachineFull);
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
