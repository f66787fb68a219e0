// SPDX-License-Identifier: Apache-2.0
#include "bench/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

extern char** environ;

namespace touchstone {
namespace {

// Everything the child needs, made before fork: between fork and exec nothing may allocate.
struct ChildSetup {
  std::vector<char*> arguments;
  std::vector<std::string> environment_texts;
  std::vector<char*> environment;
  cpu_set_t cpus;
  int log = -1;
  int error_pipe = -1;
  pid_t parent = 0;
};

ChildSetup prepare_child(const ProcessRequest& request) {
  ChildSetup setup;
  for (const std::string& argument : request.command) {
    setup.arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  setup.arguments.push_back(nullptr);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!request.environment.contains(std::string(text.substr(0, text.find('='))))) {
      setup.environment_texts.emplace_back(text);
    }
  }
  for (const auto& [name, value] : request.environment) {
    setup.environment_texts.push_back(name + "=" + value);
  }
  for (std::string& text : setup.environment_texts) {
    setup.environment.push_back(text.data());
  }
  setup.environment.push_back(nullptr);
  CPU_ZERO(&setup.cpus);
  for (const int cpu : request.cpus) {
    CPU_SET(cpu, &setup.cpus);
  }
  setup.parent = getpid();
  return setup;
}

[[noreturn]] void give_up(const ChildSetup& setup) {
  const int error = errno;
  [[maybe_unused]] const auto written = write(setup.error_pipe, &error, sizeof error);
  _exit(127);
}

[[noreturn]] void become_child(const ProcessRequest& request, ChildSetup& setup) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != setup.parent) {
    _exit(127);  // the driver died before the signal was bound
  }
  if (!request.cpus.empty() && sched_setaffinity(0, sizeof setup.cpus, &setup.cpus) != 0) {
    give_up(setup);
  }
  // The sanitizer's shadow memory alone is far beyond any limit; there the watcher has to do.
#ifndef __SANITIZE_ADDRESS__
  if (request.memory_limit > 0) {
    const rlimit limit{request.memory_limit, request.memory_limit};
    setrlimit(RLIMIT_DATA, &limit);
  }
#endif
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int input = open("/dev/null", O_RDONLY);
  dup2(input, STDIN_FILENO);
  dup2(request.standard_output >= 0 ? request.standard_output : setup.log, STDOUT_FILENO);
  dup2(setup.log, STDERR_FILENO);
  // Descriptor 3 may be in use for the error pipe or the log: move that one away first.
  setup.error_pipe = fcntl(setup.error_pipe, F_DUPFD_CLOEXEC, 10);
  if (request.channel >= 0) {
    const int channel = fcntl(request.channel, F_DUPFD_CLOEXEC, 10);
    dup2(channel, 3);
    close(channel);
  }
  const unsigned first_to_close = request.channel >= 0 ? 4 : 3;
  syscall(SYS_close_range, first_to_close, static_cast<unsigned>(setup.error_pipe) - 1, 0);
  syscall(SYS_close_range, static_cast<unsigned>(setup.error_pipe) + 1, ~0U, 0);
  execve(setup.arguments[0], setup.arguments.data(), setup.environment.data());
  give_up(setup);
}

int open_log(const std::string& path) {
  return open(path.empty() ? "/dev/null" : path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

ProcessEnd end_of(int status) {
  if (WIFEXITED(status)) {
    return {WEXITSTATUS(status), 0};
  }
  return {-1, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

}  // namespace

std::string describe(const ProcessEnd& end) {
  if (end.signal != 0) {
    return fmt::format("was killed by signal {} ({})", end.signal, strsignal(end.signal));
  }
  return fmt::format("ended with exit code {}", end.exit_code);
}

Result<Process> Process::start(const ProcessRequest& request) {
  GroupGuard& guard = GroupGuard::instance();
  ChildSetup setup = prepare_child(request);
  setup.log = open_log(request.log_file);
  if (setup.log < 0) {
    return fail(Reason::kStorage, "{}: cannot write the worker's log: {}", request.log_file, strerror(errno));
  }
  int errors[2];
  if (pipe2(errors, O_CLOEXEC) != 0) {
    close(setup.log);
    return fail(Reason::kInternal, "cannot make a pipe: {}", strerror(errno));
  }
  setup.error_pipe = errors[1];
  const pid_t pid = fork();
  if (pid == 0) {
    become_child(request, setup);
  }
  close(errors[1]);
  close(setup.log);
  if (pid < 0) {
    close(errors[0]);
    return fail(Reason::kInternal, "cannot start a process: {}", strerror(errno));
  }
  setpgid(pid, pid);  // also from here: whichever comes first
  guard.add(pid);
  Process process(pid);
  int error = 0;
  const auto got = read(errors[0], &error, sizeof error);
  close(errors[0]);
  if (got == sizeof error) {
    return fail(Reason::kEngineMissing, "{}: cannot be started: {}", request.command.front(),
                strerror(error));
  }
  return process;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      stopped_(other.stopped_),
      reaped_(other.reaped_),
      end_(other.end_) {}

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    kill();
    pid_ = std::exchange(other.pid_, -1);
    stopped_ = other.stopped_;
    reaped_ = other.reaped_;
    end_ = other.end_;
  }
  return *this;
}

Process::~Process() {
  kill();
}

Result<void> Process::stop() {
  if (stopped_ || reaped_) {
    return {};
  }
  ::kill(-pid_, SIGSTOP);
  int status = 0;
  while (waitpid(pid_, &status, WUNTRACED) < 0 && errno == EINTR) {
  }
  if (!WIFSTOPPED(status)) {
    reaped_ = true;
    end_ = end_of(status);
    return fail(Reason::kCrashed, "the worker {}", describe(end_));
  }
  stopped_ = true;
  return {};
}

Result<void> Process::resume() {
  if (reaped_) {
    return fail(Reason::kCrashed, "the worker {}", describe(end_));
  }
  if (stopped_) {
    ::kill(-pid_, SIGCONT);
    stopped_ = false;
  }
  return {};
}

ProcessEnd Process::reap() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
  end_ = end_of(status);
  return end_;
}

ProcessEnd Process::kill() {
  if (pid_ <= 0) {
    return end_;
  }
  ::kill(-pid_, SIGKILL);
  if (!reaped_) {
    reap();
  }
  GroupGuard::instance().remove(pid_);
  pid_ = -1;
  return end_;
}

ProcessEnd Process::wait_or_kill(int milliseconds) {
  if (pid_ > 0 && !reaped_) {
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    if (descriptor >= 0) {
      pollfd entry{descriptor, POLLIN, 0};
      if (poll(&entry, 1, milliseconds) > 0) {
        reap();
      }
      close(descriptor);
    }
  }
  return kill();
}

}  // namespace touchstone
