// SPDX-License-Identifier: Apache-2.0
#include "worker/harness.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <new>

#include "worker/protocol.h"
#include "worker/timing.h"

namespace touchstone {
namespace {

using nlohmann::json;

struct Reply {
  json body = json::object();
  std::optional<SharedMemory> memory;
};

// A value of /proc/self/status in bytes; the file gives kB.
std::uint64_t status_bytes(std::string_view key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) {
      return std::strtoull(line.c_str() + key.size() + 1, nullptr, 10) * 1024;
    }
  }
  return 0;
}

std::uint64_t thread_count() {
  return status_bytes("Threads") / 1024;
}

class Session {
 public:
  Session(std::string name, WorkerArguments arguments, MakeEngine make)
      : name_(std::move(name)), arguments_(std::move(arguments)), make_(make) {}

  Result<Reply> handle(Message& message) {
    const std::string verb = message.body.value("do", "");
    using Handler = Result<Reply> (Session::*)(Message&);
    static const std::map<std::string, Handler> kHandlers = {
        {"hello", &Session::hello},     {"load", &Session::load},    {"prepare", &Session::prepare},
        {"inputs", &Session::inputs},   {"infer", &Session::infer},  {"outputs", &Session::outputs},
        {"measure", &Session::measure}, {"memory", &Session::memory}};
    const auto handler = kHandlers.find(verb);
    if (handler == kHandlers.end()) {
      return fail(Reason::kProtocol, "unknown request '{}'", verb);
    }
    if (verb != "hello" && verb != "memory" && !engine_) {
      return fail(Reason::kProtocol, "'{}' before 'hello'", verb);
    }
    if (!loaded_ && verb != "hello" && verb != "memory" && verb != "load") {
      return fail(Reason::kProtocol, "'{}' before a 'load' that succeeded", verb);
    }
    return (this->*handler->second)(message);
  }

 private:
  Result<Reply> hello(Message&) {
    TOUCHSTONE_ASSIGN(engine_, make_(arguments_));
    TOUCHSTONE_ASSIGN(const EngineInfo info, engine_->info());
    Reply reply;
    reply.body = {{"protocol", kProtocolVersion},
                  {"worker", name_},
                  {"pid", getpid()},
                  {"engine", {{"name", info.name}, {"version", info.version}, {"build", info.build}}}};
    return reply;
  }

  Result<Reply> load(Message& message) {
    LoadRequest request;
    request.sdk = arguments_.sdk;
    request.model = message.body.value("model", "");
    TOUCHSTONE_ASSIGN(request.conditions, conditions_from_json(message.body.at("conditions")));
    loaded_ = false;
    const std::int64_t begin = now_ns();
    TOUCHSTONE_ASSIGN(const Options options, engine_->load(request));
    loaded_ = true;
    Reply reply;
    reply.body = {{"options", options}, {"load_ns", now_ns() - begin}, {"threads_now", thread_count()}};
    return reply;
  }

  Result<Reply> prepare(Message& message) {
    std::vector<TensorSpec> specs;
    for (const json& entry : message.body.at("inputs")) {
      TOUCHSTONE_ASSIGN(TensorSpec spec, tensor_spec_from_json(entry));
      specs.push_back(std::move(spec));
    }
    const std::int64_t begin = now_ns();
    TOUCHSTONE_TRY(engine_->prepare(specs));
    Reply reply;
    reply.body = {{"compile_ns", now_ns() - begin}};
    return reply;
  }

  Result<Reply> inputs(Message& message) {
    TOUCHSTONE_ASSIGN(const auto places, tensor_places_from_json(message.body.at("tensors")));
    if (message.descriptors.size() != 1) {
      return fail(Reason::kProtocol, "'inputs' comes with one descriptor, {} came",
                  message.descriptors.size());
    }
    TOUCHSTONE_ASSIGN(const SharedMemory memory,
                      SharedMemory::open(std::move(message.descriptors.front()),
                                         message.body.value("size", std::size_t{0})));
    TOUCHSTONE_ASSIGN(const auto views, view_tensors(places, memory.bytes()));
    TOUCHSTONE_TRY(engine_->set_inputs(views));
    return Reply{};
  }

  Result<Reply> infer(Message& message) {
    TOUCHSTONE_ASSIGN(const std::int64_t elapsed, time_one(*engine_));
    Reply reply;
    if (message.body.value("outputs", false)) {
      TOUCHSTONE_ASSIGN(reply, outputs(message));
    }
    reply.body["ns"] = elapsed;
    return reply;
  }

  Result<Reply> outputs(Message&) {
    TOUCHSTONE_ASSIGN(const std::vector<TensorView> views, engine_->outputs());
    std::vector<TensorSpec> specs;
    for (const TensorView& view : views) {
      specs.push_back({"", view.type, view.shape});
    }
    std::size_t total = 0;
    const auto places = place_tensors(specs, total);
    TOUCHSTONE_ASSIGN(SharedMemory memory, SharedMemory::create(total));
    Reply reply;
    reply.body["tensors"] = json::array();
    for (std::size_t i = 0; i < views.size(); ++i) {
      if (views[i].bytes.size() != places[i].size) {
        return fail(Reason::kInternal, "output {} has {} bytes, its shape wants {}", i, views[i].bytes.size(),
                    places[i].size);
      }
      if (places[i].size > 0) {
        std::memcpy(memory.bytes().data() + places[i].offset, views[i].bytes.data(), places[i].size);
      }
      reply.body["tensors"].push_back(to_json(places[i]));
    }
    reply.body["size"] = total;
    TOUCHSTONE_TRY(memory.seal());
    reply.memory = std::move(memory);
    return reply;
  }

  Result<Reply> measure(Message& message) {
    TOUCHSTONE_ASSIGN(const MeasureRequest request, measure_request_from_json(message.body));
    TOUCHSTONE_ASSIGN(const MeasureReply measured, run_turn(*engine_, request));
    Reply reply;
    reply.body = to_json(measured);
    return reply;
  }

  Result<Reply> memory(Message& message) {
    Reply reply;
    reply.body = {{"rss_bytes", status_bytes("VmRSS")},
                  {"peak_bytes", status_bytes("VmHWM")},
                  {"threads", thread_count()}};
    if (message.body.value("reset", false)) {
      std::ofstream("/proc/self/clear_refs") << 5;  // makes VmHWM start again from here
    }
    return reply;
  }

  std::string name_;
  WorkerArguments arguments_;
  MakeEngine make_;
  std::unique_ptr<Engine> engine_;
  bool loaded_ = false;
};

// Engine libraries throw what they like; out of here only answers go.
Result<Reply> guarded(Session& session, Message& message) {
  try {
    return session.handle(message);
  } catch (const std::bad_alloc&) {
    return fail(Reason::kOutOfMemory, "an allocation failed");
  } catch (const json::exception& error) {
    return fail(Reason::kProtocol, "malformed request: {}", error.what());
  } catch (const std::exception& error) {
    const std::string_view text(error.what());
    const bool memory = text.find("bad_alloc") != std::string_view::npos ||
                        text.find("not enough memory") != std::string_view::npos ||
                        text.find("can't allocate memory") != std::string_view::npos;
    return fail(memory ? Reason::kOutOfMemory : Reason::kInternal, "{}", text);
  }
}

int serve(Channel& channel, Session& session) {
  while (true) {
    auto message = channel.receive();
    if (!message) {
      return message.error().reason == Reason::kCrashed ? 0 : 1;
    }
    const json id = message->body.value("id", json());
    if (message->body.value("do", "") == "bye") {
      [[maybe_unused]] const auto sent = channel.send({{"id", id}, {"ok", true}});
      return 0;
    }
    auto reply = guarded(session, *message);
    json body = reply ? std::move(reply->body)
                      : json{{"reason", to_string(reply.error().reason)}, {"message", reply.error().message}};
    body["id"] = id;
    body["ok"] = reply.has_value();
    Result<void> sent;
    if (reply && reply->memory) {
      const int descriptor = reply->memory->descriptor();
      sent = channel.send(body, std::span(&descriptor, 1));
    } else {
      sent = channel.send(body);
    }
    if (!sent) {
      return 0;
    }
  }
}

}  // namespace

int run_worker(int argc, char** argv, const std::string& name, MakeEngine make) {
  WorkerArguments arguments;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--sdk") == 0) {
      arguments.sdk = argv[i + 1];
    }
  }
  const char* number = std::getenv("TOUCHSTONE_CHANNEL");
  struct ucred peer {};
  socklen_t length = sizeof peer;
  const int descriptor = number == nullptr ? -1 : std::atoi(number);
  if (descriptor < 0 || getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    std::fprintf(
        stderr,
        "touchstone-worker-%s is started by the program touchstone, which talks to it over a socket; "
        "run `touchstone run MODEL --engines %s` instead\n",
        name.c_str(), name.c_str());
    return 2;
  }
  // The engine may start processes of its own: the channel is not for them.
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  unsetenv("TOUCHSTONE_CHANNEL");
  Channel channel{Descriptor(descriptor)};
  Session session(name, arguments, make);
  const int code = serve(channel, session);
  std::fflush(nullptr);
  _exit(code);  // engine libraries' destructors are not what anybody waits for
}

}  // namespace touchstone
