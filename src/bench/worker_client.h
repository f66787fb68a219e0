// SPDX-License-Identifier: Apache-2.0
// The driver's end of one worker: starts it, speaks the protocol, tells how it died.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/memory_watch.h"
#include "bench/process.h"
#include "worker/protocol.h"

namespace touchstone {

struct WorkerLaunch {
  std::string name;                                // for messages: the column's label
  std::vector<std::string> command;                // executable, --sdk DIR
  std::map<std::string, std::string> environment;  // thread limits of its libraries
  std::vector<int> cpus;
  std::uint64_t memory_limit = 0;  // bytes; 0: none
  std::chrono::nanoseconds timeout{};
  std::string log_file;
};

class WorkerClient {
 public:
  /// Starts the worker and greets it. Errors: engine-missing (not executable, or its library does not load),
  /// and what `call` returns.
  static Result<std::unique_ptr<WorkerClient>> launch(const WorkerLaunch& launch, MemoryWatch& watch);
  ~WorkerClient();
  WorkerClient(const WorkerClient&) = delete;
  WorkerClient& operator=(const WorkerClient&) = delete;

  /// One request and its reply, with the descriptors that came along. Resumes the worker if it is stopped.
  /// Errors: what the worker replied; crashed, out-of-memory, timed-out, protocol (the worker is gone
  /// afterwards, `alive` is false); interrupted (a signal asked the driver to end).
  Result<Message> call(nlohmann::json request, std::span<const int> descriptors = {});

  /// Stops the idle worker, so that its thread pool does not spin beside the one that is measured.
  Result<void> rest();

  bool alive() const { return alive_; }
  pid_t pid() const { return process_.pid(); }
  const nlohmann::json& engine() const { return engine_; }

 private:
  WorkerClient(const WorkerLaunch& launch, MemoryWatch& watch, Process process, Channel channel);
  Result<void> greet();
  Error bury(const Error& cause);
  Error died() const;

  WorkerLaunch launch_;
  MemoryWatch& watch_;
  Process process_;
  Channel channel_;
  nlohmann::json engine_;
  std::int64_t next_id_ = 1;
  bool alive_ = true;
  std::uint64_t memory_kills_ = kernel_memory_kills();  // before this worker
  std::optional<ProcessEnd> end_;
};

/// The last lines of a worker's log, for messages; empty where there is none.
std::string log_tail(const std::string& path, std::size_t lines = 3);

/// Set by SIGINT and SIGTERM once `install_interrupt_handler` has run.
bool interrupted();
void install_interrupt_handler();

}  // namespace touchstone
