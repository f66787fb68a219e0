// SPDX-License-Identifier: Apache-2.0
// RLIMIT_DATA does not count file mappings and shared memory: a watcher looks at the resident size of every
// worker ten times a second and kills the one that is beyond its limit. Where the machine's memory runs out
// it kills the worker that came last, before the kernel picks one, so that the others and the driver go on.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

namespace touchstone {

/// Bytes of memory this process may use: the machine's, or less where a cgroup says so.
std::uint64_t usable_memory();
/// Bytes that the machine can still give without swapping (MemAvailable; a cgroup's limit is not seen here).
std::uint64_t available_memory();

/// How often the kernel has killed a process because memory had run out, since the machine started; 0 where
/// it does not say.
std::uint64_t kernel_memory_kills();

class MemoryWatch {
 public:
  enum class Cause { kOwnLimit, kMachineFull };

  explicit MemoryWatch(std::function<std::uint64_t()> available = available_memory);
  /// Watches `pid` until it is forgotten. `limit` in bytes of resident memory.
  void add(pid_t pid, std::uint64_t limit);
  void forget(pid_t pid);
  /// Why this watch killed `pid`; nothing where it did not.
  std::optional<Cause> killed(pid_t pid) const;

 private:
  void look();
  void end(pid_t pid, Cause cause);
  void watch(const std::stop_token& stop);

  mutable std::mutex mutex_;
  std::function<std::uint64_t()> available_;
  std::map<pid_t, std::uint64_t> limits_;
  std::vector<pid_t> order_;  // those of limits_, the last added last
  std::map<pid_t, Cause> killed_;
  std::jthread thread_;  // started with the first worker
};

/// Bytes resident in `pid`; 0 where it is gone.
std::uint64_t resident_bytes(pid_t pid);

}  // namespace touchstone
