// SPDX-License-Identifier: Apache-2.0
#include "support/command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace touchstone {
namespace {

namespace fs = std::filesystem;

// In the child, between fork and exec.
[[noreturn]] void become(const std::vector<std::string>& arguments, const CommandSetting& setting,
                         const std::string& out, const std::string& err) {
  setpgid(0, 0);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644), STDOUT_FILENO);
  dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644), STDERR_FILENO);
  if (!setting.folder.empty() && chdir(setting.folder.c_str()) != 0) {
    _exit(126);
  }
  for (const auto& [name, value] : setting.environment) {
    value.empty() ? unsetenv(name.c_str()) : setenv(name.c_str(), value.c_str(), 1);
  }
  std::vector<char*> list;
  for (const std::string& argument : arguments) {
    list.push_back(const_cast<char*>(argument.c_str()));
  }
  list.push_back(nullptr);
  execvp(list[0], list.data());
  _exit(127);
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "touchstone-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("no temporary folder can be made");
  }
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

RunningCommand::RunningCommand(const std::vector<std::string>& arguments, const CommandSetting& setting) {
  pid_ = fork();
  if (pid_ == 0) {
    become(arguments, setting, files_ / "out", files_ / "err");
  }
}

RunningCommand::~RunningCommand() {
  if (!ended()) {
    kill(pid_, SIGKILL);
    waitpid(pid_, &status_, 0);
  }
}

bool RunningCommand::ended() {
  if (!over_) {
    over_ = waitpid(pid_, &status_, WNOHANG) == pid_;
  }
  return over_;
}

void RunningCommand::signal(int number) const {
  kill(pid_, number);
}

std::string RunningCommand::out() const {
  return read_text(files_ / "out");
}

bool RunningCommand::prints(const std::string& text, std::chrono::seconds within) {
  bool over = false;
  eventually([&] { return over = ended(), out().find(text) != std::string::npos || over; }, within);
  return out().find(text) != std::string::npos;
}

CommandResult RunningCommand::wait(std::chrono::seconds within) {
  CommandResult result;
  if (!eventually([&] { return ended(); }, within)) {
    result.timed_out = true;
    kill(pid_, SIGKILL);
    waitpid(pid_, &status_, 0);
    over_ = true;
  }
  result.out = out();
  result.err = read_text(files_ / "err");
  if (WIFEXITED(status_)) {
    result.exit_code = WEXITSTATUS(status_);
  } else {
    result.signal = WTERMSIG(status_);
  }
  return result;
}

CommandResult run_command(const std::vector<std::string>& arguments, const CommandSetting& setting,
                          std::chrono::seconds within) {
  return RunningCommand(arguments, setting).wait(within);
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_text(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

std::vector<pid_t> processes_with(const std::string& text) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos || std::stol(name) == getpid()) {
      continue;
    }
    std::string line = read_text(entry.path() / "cmdline");
    for (char& c : line) {
      c = c == '\0' ? ' ' : c;
    }
    if (line.find(text) != std::string::npos) {
      found.push_back(static_cast<pid_t>(std::stol(name)));
    }
  }
  return found;
}

void nap(std::chrono::milliseconds time) {
  std::this_thread::sleep_for(time);
}

}  // namespace touchstone
