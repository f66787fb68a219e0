// SPDX-License-Identifier: Apache-2.0
#include "bench/helper_process.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "bench/process.h"
#include "bench/worker_client.h"

namespace touchstone {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLargestAnswer = 256U << 20;

// Everything the helper prints until it closes its standard output.
Result<std::string> read_all(int descriptor, Clock::time_point deadline) {
  std::string text;
  std::array<char, 65536> buffer;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd entry{descriptor, POLLIN, 0};
    const int ready = left > 0 ? poll(&entry, 1, static_cast<int>(std::min<long>(left, 1 << 30))) : 0;
    if (interrupted()) {
      return fail(Reason::kInterrupted, "interrupted");
    }
    if (ready == 0) {
      return fail(Reason::kTimedOut, "reading the model took too long");
    }
    if (ready < 0) {
      continue;
    }
    const auto got = read(descriptor, buffer.data(), buffer.size());
    if (got <= 0) {
      return text;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > kLargestAnswer) {
      return fail(Reason::kInternal, "touchstone-model printed more than {} bytes", kLargestAnswer);
    }
  }
}

Result<nlohmann::json> parse_answer(const std::string& text, const ProcessEnd& end, const std::string& log) {
  auto answer = nlohmann::json::parse(text, nullptr, false);
  if (answer.is_object() && answer.contains("error")) {
    const auto& error = answer["error"];
    const auto reason = reason_from_string(error.value("reason", ""));
    return fail(reason.value_or(Reason::kInvalidModel), "{}", error.value("message", "no message"));
  }
  if (answer.is_discarded() || end.signal != 0 || end.exit_code != 0) {
    const std::string tail = log_tail(log);
    return fail(Reason::kInvalidModel, "reading the model failed: touchstone-model {}{}{}", describe(end),
                tail.empty() ? "" : "; its log ends: ", tail);
  }
  return answer;
}

}  // namespace

Result<nlohmann::json> call_model_helper(const Installation& installation,
                                         const std::vector<std::string>& arguments,
                                         std::chrono::nanoseconds timeout) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return fail(Reason::kInternal, "cannot make a pipe: {}", strerror(errno));
  }
  std::error_code ignored;
  std::filesystem::create_directories(installation.home + "/logs", ignored);
  ProcessRequest request;
  request.command = {installation.bin + "/touchstone-model"};
  request.command.insert(request.command.end(), arguments.begin(), arguments.end());
  request.log_file = fmt::format("{}/logs/model-{}.log", installation.home, getpid());
  request.standard_output = ends[1];
  std::filesystem::remove(request.log_file, ignored);
  auto process = Process::start(request);
  close(ends[1]);
  if (!process) {
    close(ends[0]);
    return tl::unexpected(process.error());
  }
  auto text = read_all(ends[0], Clock::now() + timeout);
  close(ends[0]);
  if (!text) {
    return tl::unexpected(text.error());
  }
  const ProcessEnd end = process->wait_or_kill(5000);
  auto answer = parse_answer(*text, end, request.log_file);
  std::filesystem::remove(request.log_file, ignored);
  return answer;
}

Result<std::string> prepare_model(const Installation& installation, const std::string& model) {
  TOUCHSTONE_ASSIGN(const auto answer,
                    call_model_helper(installation, {"prepare", model, "--home", installation.home}));
  return answer.dump();
}

}  // namespace touchstone
