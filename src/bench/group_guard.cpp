// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <set>

#include "bench/process.h"

namespace touchstone {
namespace {

struct Message {
  char action;  // '+' or '-'
  pid_t group;
};

// Reads until the driver's end of the pipe is closed by its death, then kills what was added and not removed.
[[noreturn]] void guard_groups(int input) {
  setsid();  // a Ctrl-C at the terminal is for the driver
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  std::set<pid_t> groups;
  Message message{};
  while (read(input, &message, sizeof message) == sizeof message) {
    if (message.action == '+') {
      groups.insert(message.group);
    } else {
      groups.erase(message.group);
    }
  }
  for (const pid_t group : groups) {
    kill(-group, SIGKILL);
  }
  _exit(0);
}

}  // namespace

GroupGuard& GroupGuard::instance() {
  static GroupGuard guard;
  return guard;
}

GroupGuard::GroupGuard() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return;
  }
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[0], 3);
    syscall(SYS_close_range, 4U, ~0U, 0);
    const int nothing = open("/dev/null", O_RDWR);
    for (const int descriptor : {0, 1, 2}) {
      dup2(nothing, descriptor);
    }
    guard_groups(3);
  }
  close(ends[0]);
  pipe_ = ends[1];
}

void GroupGuard::add(pid_t group) {
  send('+', group);
}
void GroupGuard::remove(pid_t group) {
  send('-', group);
}

void GroupGuard::send(char action, pid_t group) const {
  const Message message{action, group};
  [[maybe_unused]] const auto written = write(pipe_, &message, sizeof message);
}

}  // namespace touchstone
