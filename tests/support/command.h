// SPDX-License-Identifier: Apache-2.0
// Runs the real programs in tests.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace touchstone {

/// A folder that is gone with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

struct CommandResult {
  int exit_code = -1;  // -1: ended by a signal
  int signal = 0;
  bool timed_out = false;  // and was killed for it
  std::string out, err;
};

struct CommandSetting {
  std::string folder;                              // working folder; empty: the test's own
  std::map<std::string, std::string> environment;  // on top of the test's own; an empty value unsets
};

/// A program that runs while the test goes on; killed with the object.
class RunningCommand {
 public:
  explicit RunningCommand(const std::vector<std::string>& arguments, const CommandSetting& setting = {});
  ~RunningCommand();
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// What it has printed so far.
  std::string out() const;
  /// Waits until standard output holds `text`; false where the program ended or the time ran out first.
  bool prints(const std::string& text, std::chrono::seconds within = std::chrono::seconds(200));
  CommandResult wait(std::chrono::seconds within = std::chrono::seconds(400));

 private:
  bool ended();

  TemporaryFolder files_;
  pid_t pid_ = -1;
  bool over_ = false;
  int status_ = 0;
};

CommandResult run_command(const std::vector<std::string>& arguments, const CommandSetting& setting = {},
                          std::chrono::seconds within = std::chrono::seconds(400));

std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);

/// Processes whose command line contains `text`, other than this one.
std::vector<pid_t> processes_with(const std::string& text);
/// Waits until `condition` holds.
template <class Condition>
bool eventually(Condition condition, std::chrono::seconds within = std::chrono::seconds(20));

void nap(std::chrono::milliseconds time);

template <class Condition>
bool eventually(Condition condition, std::chrono::seconds within) {
  const auto end = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    nap(std::chrono::milliseconds(20));
  }
  return true;
}

}  // namespace touchstone
