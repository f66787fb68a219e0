// SPDX-License-Identifier: Apache-2.0
// A child process in a group of its own: started on a CPU set under a memory limit, stopped and continued
// exactly, gone with the driver.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace touchstone {

struct ProcessRequest {
  std::vector<std::string> command;                // executable and arguments
  std::map<std::string, std::string> environment;  // added to the driver's
  std::string log_file;                            // standard output and error are appended; empty: /dev/null
  std::vector<int> cpus;                           // empty: the driver's own
  std::uint64_t memory_limit = 0;                  // bytes of data (RLIMIT_DATA); 0: none
  int channel = -1;                                // becomes descriptor 3 of the child; -1: none
  int standard_output = -1;                        // a pipe's end instead of the log file; -1: the log file
};

/// How a process ended.
struct ProcessEnd {
  int exit_code = -1;  // -1 where a signal ended it
  int signal = 0;
};

/// "was killed by signal 11 (Segmentation fault)", "ended with exit code 3".
std::string describe(const ProcessEnd& end);

class Process {
 public:
  /// Starts the process from the calling thread, which must outlive it (the death signal is bound to the
  /// thread). Errors: engine-missing where it cannot be executed.
  static Result<Process> start(const ProcessRequest& request);

  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  /// Kills the whole group and reaps it.
  ~Process();

  pid_t pid() const { return pid_; }

  /// Stops the whole group; returns when the kernel has confirmed it. Errors: crashed.
  Result<void> stop();
  Result<void> resume();
  bool stopped() const { return stopped_; }

  /// SIGKILL to the whole group, then reaps. Returns how it ended.
  ProcessEnd kill();
  /// Waits up to `milliseconds` for it to end by itself, then kills.
  ProcessEnd wait_or_kill(int milliseconds);

 private:
  explicit Process(pid_t pid) : pid_(pid) {}
  ProcessEnd reap();

  pid_t pid_ = -1;
  bool stopped_ = false;
  bool reaped_ = false;
  ProcessEnd end_;
};

/// A process that outlives the driver for a moment: it learns of every group started and, when the driver is
/// gone however it died, kills what is left of them (grandchildren are not bound to the driver by the
/// kernel).
class GroupGuard {
 public:
  /// One for the program; started on first use.
  static GroupGuard& instance();
  void add(pid_t group);
  void remove(pid_t group);

 private:
  GroupGuard();
  void send(char action, pid_t group) const;
  int pipe_ = -1;
};

}  // namespace touchstone
