// SPDX-License-Identifier: Apache-2.0
#include "bench/column_session.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "measure/machine.h"
#include "measure/sampling.h"

namespace touchstone {
namespace {

// After so many deaths a column is given up: every start of a process costs the others time.
constexpr int kMostCrashes = 3;

std::int64_t cpu_time_of(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    return 0;
  }
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The share of the CPUs' time that went to others. /proc/stat counts ticks of 10 ms, so one tick a CPU is not
// evidence.
double foreign_share(const CpuTimes& before, const CpuTimes& after, std::int64_t own_ns, std::int64_t wall_ns,
                     std::size_t cpus) {
  const std::int64_t tick = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  const std::int64_t foreign = (after.busy_ns - before.busy_ns) + (after.steal_ns - before.steal_ns) -
                               own_ns - tick * static_cast<std::int64_t>(cpus);
  const double whole = static_cast<double>(wall_ns) * static_cast<double>(cpus);
  return whole <= 0 ? 0 : std::clamp(static_cast<double>(foreign) / whole, 0.0, 1.0);
}

constexpr std::int64_t kMostWarmNs = 1'000'000'000;

}  // namespace

MeasureRequest turn_request(const TurnPlan& plan) {
  MeasureRequest request;
  request.warm_max_count = plan.warm_count;
  request.warm_max_ns = kMostWarmNs;
  request.min_count = plan.min_count;
  request.max_count = plan.max_count;
  request.min_ns = plan.min_ns;
  request.inner = plan.inner;
  return request;
}

Result<void> ColumnSession::ensure_loaded() {
  if (worker_ && worker_->alive()) {
    return {};
  }
  if (worker_ && ++crashes_ >= kMostCrashes) {
    return fail(Reason::kCrashed, "{}: its worker died {} times; the rest of the column is left out",
                setting_.label, crashes_);
  }
  WorkerLaunch launch;
  launch.name = setting_.label;
  launch.command = setting_.engine.command;
  launch.environment = setting_.engine.environment;
  launch.cpus = setting_.cpus;
  launch.memory_limit = setting_.memory_limit;
  launch.timeout = setting_.timeout;
  launch.log_file = setting_.log_file;
  TOUCHSTONE_ASSIGN(worker_, WorkerClient::launch(launch, watch_));
  Conditions conditions;
  conditions.mode = setting_.engine.mode;
  conditions.device = setting_.column.device;
  conditions.precision = setting_.column.precision;
  conditions.shape_mode = setting_.column.shape_mode;
  conditions.threads = setting_.threads;
  conditions.options = setting_.column.options;
  TOUCHSTONE_ASSIGN(
      const Message reply,
      worker_->call({{"do", "load"}, {"model", setting_.model}, {"conditions", to_json(conditions)}}));
  load_ns_ = reply.body.value("load_ns", std::int64_t{0});
  options_ = reply.body.value("options", Options{});
  version_ = worker_->engine().value("version", setting_.engine.version);
  return {};
}

Result<std::int64_t> ColumnSession::prepare(const TensorSet& inputs) {
  TOUCHSTONE_TRY(ensure_loaded());
  TOUCHSTONE_TRY(worker_->call({{"do", "memory"}, {"reset", true}}));
  TOUCHSTONE_ASSIGN(const Message reply, worker_->call(inputs.prepare_request()));
  return reply.body.value("compile_ns", std::int64_t{0});
}

Result<void> ColumnSession::set_inputs(const TensorSet& inputs) {
  const int descriptor = inputs.memory.descriptor();
  TOUCHSTONE_TRY(worker_->call(inputs.inputs_request(), std::span(&descriptor, 1)));
  return {};
}

Result<Expected> ColumnSession::outputs_of(const Message& reply) const {
  if (reply.descriptors.size() != 1) {
    return fail(Reason::kProtocol, "{}: outputs came without their memory", setting_.label);
  }
  TOUCHSTONE_ASSIGN(const auto places,
                    tensor_places_from_json(reply.body.value("tensors", nlohmann::json::array())));
  TOUCHSTONE_ASSIGN(SharedMemory memory,
                    SharedMemory::open(Descriptor(fcntl(reply.descriptors.front().get(), F_DUPFD_CLOEXEC, 0)),
                                       reply.body.value("size", std::size_t{0})));
  Expected outputs;
  outputs.truth = setting_.label;
  TOUCHSTONE_ASSIGN(outputs.tensors, view_tensors(places, memory.bytes()));
  outputs.data = std::make_shared<const SharedMemory>(std::move(memory));
  return outputs;
}

Result<std::pair<Expected, std::int64_t>> ColumnSession::infer_and_keep() {
  TOUCHSTONE_ASSIGN(const Message reply, worker_->call({{"do", "infer"}, {"outputs", true}}));
  TOUCHSTONE_ASSIGN(Expected outputs, outputs_of(reply));
  return std::pair(std::move(outputs), reply.body.value("ns", std::int64_t{0}));
}

Result<std::int64_t> ColumnSession::infer_and_compare(const Expected& expected, Proof& proof) {
  TOUCHSTONE_ASSIGN(const auto outputs, infer_and_keep());
  TOUCHSTONE_TRY(compare_outputs(outputs.first.tensors, expected, setting_.judging, proof));
  return outputs.second;
}

Result<void> ColumnSession::compare_last(const Expected& expected, Proof& proof) {
  TOUCHSTONE_ASSIGN(const Message reply, worker_->call({{"do", "outputs"}}));
  TOUCHSTONE_ASSIGN(const Expected outputs, outputs_of(reply));
  return compare_outputs(outputs.tensors, expected, setting_.judging, proof);
}

Result<Turn> ColumnSession::measure(const MeasureRequest& request) {
  if (!worker_ || !worker_->alive()) {
    return fail(Reason::kCrashed, "{}: the worker is gone", setting_.label);
  }
  const CpuTimes before = read_cpu_times(setting_.cpus);
  const std::int64_t own_before = cpu_time_of(worker_->pid());
  const std::int64_t begin = monotonic_ns();
  TOUCHSTONE_ASSIGN(const Message message, worker_->call(to_json(request)));
  const std::int64_t wall = monotonic_ns() - begin;
  const std::int64_t own = cpu_time_of(worker_->pid()) - own_before;
  TOUCHSTONE_ASSIGN(MeasureReply reply, measure_reply_from_json(message.body));
  Turn turn;
  turn.samples_ns = std::move(reply.samples_ns);
  turn.warm_ns = std::move(reply.warm_ns);
  turn.inner = reply.inner;
  turn.cpu_ns = reply.cpu_ns;
  turn.wall_ns = reply.wall_ns;
  turn.voluntary = reply.voluntary;
  turn.involuntary = reply.involuntary;
  turn.start_ns = reply.start_ns;
  turn.foreign_share = foreign_share(before, read_cpu_times(setting_.cpus), own, wall, setting_.cpus.size());
  turn.drop_reason = disturbance(turn.foreign_share);
  turn.dropped = !turn.drop_reason.empty();
  return turn;
}

Result<std::int64_t> ColumnSession::peak_bytes() {
  TOUCHSTONE_ASSIGN(const Message reply, worker_->call({{"do", "memory"}, {"reset", false}}));
  return reply.body.value("peak_bytes", std::int64_t{0});
}

}  // namespace touchstone
