// SPDX-License-Identifier: Apache-2.0
#include "bench/worker_client.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <fstream>

namespace touchstone {
namespace {

volatile sig_atomic_t interrupt_requested = 0;

// How long a dying worker may take to be gone once its end of the channel is closed.
constexpr int kDeathWaitMs = 2000;

}  // namespace

bool interrupted() {
  return interrupt_requested != 0;
}

void install_interrupt_handler() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupt_requested = 1; };
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a blocked receive has to return
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

std::string log_tail(const std::string& path, std::size_t lines) {
  std::ifstream file(path);
  std::deque<std::string> last;
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) {
      continue;
    }
    last.push_back(line.substr(0, 300));
    if (last.size() > lines) {
      last.pop_front();
    }
  }
  return fmt::format("{}", fmt::join(last, "\n"));
}

WorkerClient::WorkerClient(const WorkerLaunch& launch, MemoryWatch& watch, Process process, Channel channel)
    : launch_(launch), watch_(watch), process_(std::move(process)), channel_(std::move(channel)) {
  watch_.add(process_.pid(), launch_.memory_limit > 0 ? launch_.memory_limit : UINT64_MAX);
}

WorkerClient::~WorkerClient() {
  if (process_.pid() > 0) {
    watch_.forget(process_.pid());
  }
}

Result<std::unique_ptr<WorkerClient>> WorkerClient::launch(const WorkerLaunch& launch, MemoryWatch& watch) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(Reason::kInternal, "cannot make the worker's channel: {}", strerror(errno));
  }
  Channel channel{Descriptor(ends[0])};
  ProcessRequest request;
  request.command = launch.command;
  request.environment = launch.environment;
  request.environment["TOUCHSTONE_CHANNEL"] = "3";
  request.log_file = launch.log_file;
  request.cpus = launch.cpus;
  request.memory_limit = launch.memory_limit;
  request.channel = ends[1];
  auto process = Process::start(request);
  close(ends[1]);
  if (!process) {
    return tl::unexpected(process.error());
  }
  std::unique_ptr<WorkerClient> client(
      new WorkerClient(launch, watch, std::move(*process), std::move(channel)));
  TOUCHSTONE_TRY(client->greet());
  return client;
}

Result<void> WorkerClient::greet() {
  auto reply = call({{"do", "hello"}, {"protocol", kProtocolVersion}});
  if (!reply) {
    return tl::unexpected(reply.error());
  }
  const auto spoken = reply->body.value("protocol", 0);
  if (spoken != kProtocolVersion) {
    return fail(Reason::kEngineMissing,
                "{}: speaks protocol {}, this driver speaks {}; build both from one version", launch_.name,
                spoken, kProtocolVersion);
  }
  engine_ = reply->body.value("engine", nlohmann::json::object());
  return {};
}

Result<Message> WorkerClient::call(nlohmann::json request, std::span<const int> descriptors) {
  if (!alive_) {
    return fail(Reason::kCrashed, "{}: the worker is gone", launch_.name);
  }
  if (interrupted()) {  // the signal may have come while nothing was waited for
    return tl::unexpected(bury({Reason::kInterrupted, "interrupted"}));
  }
  const std::string what = request.value("do", "?");
  const std::int64_t id = next_id_++;
  request["id"] = id;
  TOUCHSTONE_TRY(process_.resume());
  if (auto sent = channel_.send(request, descriptors); !sent) {
    return tl::unexpected(bury(sent.error()));
  }
  auto reply = channel_.receive(launch_.timeout);
  if (!reply) {
    return tl::unexpected(bury(reply.error()));
  }
  const nlohmann::json& body = reply->body;
  if (!body.is_object() || !body.contains("id") || body["id"] != id || !body.contains("ok")) {
    return tl::unexpected(
        bury({Reason::kProtocol, fmt::format("the answer to '{}' was not the protocol's", what)}));
  }
  if (body["ok"] == true) {
    return std::move(*reply);
  }
  const auto reason = reason_from_string(body.value("reason", ""));
  return fail(reason.value_or(Reason::kInternal), "{}: {}", launch_.name,
              body.value("message", "no message"));
}

Result<void> WorkerClient::rest() {
  if (!alive_) {
    return {};
  }
  if (auto stopped = process_.stop(); !stopped) {
    return tl::unexpected(bury(stopped.error()));
  }
  return {};
}

// The channel broke, or nothing came in time: whatever it was, the worker cannot be used any more.
Error WorkerClient::bury(const Error& cause) {
  alive_ = false;
  if (interrupted() || cause.reason == Reason::kInterrupted) {
    process_.kill();
    return {Reason::kInterrupted, "interrupted"};
  }
  if (cause.reason == Reason::kTimedOut) {
    process_.kill();
    return {Reason::kTimedOut,
            fmt::format("{}: no answer within {:.0f} s; --timeout allows more", launch_.name,
                        std::chrono::duration<double>(launch_.timeout).count())};
  }
  const pid_t pid = process_.pid();
  end_ = cause.reason == Reason::kProtocol ? process_.kill() : process_.wait_or_kill(kDeathWaitMs);
  const auto killed = watch_.killed(pid);
  // The kernel may see it before the watch does.
  const bool by_kernel = !killed && end_->signal == SIGKILL && kernel_memory_kills() > memory_kills_;
  if (by_kernel || killed == MemoryWatch::Cause::kMachineFull) {
    return {Reason::kOutOfMemory, fmt::format("{}: the machine's memory ran out while this process, the last "
                                              "of several, was loaded; run fewer engines at once, "
                                              "with --engines",
                                              launch_.name)};
  }
  if (killed) {
    return {Reason::kOutOfMemory,
            fmt::format("{}: used more than its limit of {} bytes of memory; --memory-limit allows more",
                        launch_.name, launch_.memory_limit)};
  }
  if (cause.reason == Reason::kProtocol) {
    return {Reason::kProtocol,
            fmt::format("{}: {}; its log is {}", launch_.name, cause.message, launch_.log_file)};
  }
  return died();
}

Error WorkerClient::died() const {
  const std::string tail = log_tail(launch_.log_file);
  // An allocation that RLIMIT_DATA refused ends most libraries in an uncaught bad_alloc.
  const bool allocation = tail.find("bad_alloc") != std::string::npos ||
                          tail.find("annot allocate memory") != std::string::npos ||
                          tail.find("out of memory") != std::string::npos;
  const Reason reason = allocation && launch_.memory_limit > 0 ? Reason::kOutOfMemory : Reason::kCrashed;
  return {reason, fmt::format("{}: the worker {}; its log {} ends: {}", launch_.name, describe(*end_),
                              launch_.log_file, tail.empty() ? "(nothing)" : tail)};
}

}  // namespace touchstone
