// SPDX-License-Identifier: Apache-2.0
// RLIMIT_DATA does not count file mappings and shared memory: a watcher looks at the resident size of every
// worker ten times a second and kills the one that is beyond its limit.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>

namespace touchstone {

class MemoryWatch {
 public:
  /// Watches `pid` until it is forgotten. `limit` in bytes of resident memory.
  void add(pid_t pid, std::uint64_t limit);
  void forget(pid_t pid);
  /// Whether this watch killed `pid`.
  bool killed(pid_t pid) const;

 private:
  void look();
  void watch(const std::stop_token& stop);

  mutable std::mutex mutex_;
  std::map<pid_t, std::uint64_t> limits_;
  std::set<pid_t> killed_;
  std::jthread thread_;  // started with the first worker
};

/// Bytes resident in `pid`; 0 where it is gone.
std::uint64_t resident_bytes(pid_t pid);
/// Bytes of memory this process may use: the machine's, or less where a cgroup says so.
std::uint64_t usable_memory();

}  // namespace touchstone
