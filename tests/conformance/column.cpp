// SPDX-License-Identifier: Apache-2.0
#include "column.h"

#include <fcntl.h>

#include <algorithm>

#include "bench/input_source.h"
#include "graph/onnx/onnx_io.h"
#include "reference/verdict.h"

namespace touchstone {
namespace {

// No case computes for longer than a moment; a worker that hangs is given up after this.
constexpr std::chrono::seconds kTimeout{60};

Result<TensorSet> inputs_of(const Case& tried) {
  std::vector<TensorSpec> specs;
  for (const CaseTensor& input : tried.inputs) {
    specs.push_back(input.spec);
  }
  std::size_t total = 0;
  auto places = place_tensors(specs, total);
  TOUCHSTONE_ASSIGN(SharedMemory memory, SharedMemory::create(std::max<std::size_t>(total, 64)));
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::copy(tried.inputs[i].bytes.begin(), tried.inputs[i].bytes.end(),
              memory.bytes().begin() + static_cast<std::ptrdiff_t>(places[i].offset));
  }
  TOUCHSTONE_TRY(memory.seal());
  return TensorSet{std::move(places), std::move(memory), std::max<std::size_t>(total, 64)};
}

Outcome outcome_of(Reason reason) {
  switch (reason) {
    case Reason::kUnsupportedOperator:
    case Reason::kUnsupported:
      return Outcome::kUnsupported;
    case Reason::kWrongResult:
      return Outcome::kWrong;
    case Reason::kCrashed:
    case Reason::kTimedOut:
    case Reason::kProtocol:
      return Outcome::kCrashed;
    default:
      return Outcome::kRefused;
  }
}

}  // namespace

ConformanceColumn::ConformanceColumn(ResolvedEngine engine, std::string label, std::string folder)
    : engine_(std::move(engine)), label_(std::move(label)), folder_(std::move(folder)) {}

Result<std::string> ConformanceColumn::write_model(const Case& tried) const {
  if (engine_.manifest.reads == "onnx") {
    TOUCHSTONE_TRY(write_onnx(tried.graph, folder_ + "/case.onnx"));
    return folder_ + "/case.onnx";
  }
  TOUCHSTONE_TRY(write_text_file(folder_ + "/case.json", to_json(tried.graph).dump()));
  return folder_ + "/case.json";
}

Result<void> ConformanceColumn::judge(const Message& reply, const Case& tried, CaseResult& result) const {
  if (reply.descriptors.size() != 1) {
    return fail(Reason::kProtocol, "outputs came without their memory");
  }
  TOUCHSTONE_ASSIGN(const auto places,
                    tensor_places_from_json(reply.body.value("tensors", nlohmann::json::array())));
  TOUCHSTONE_ASSIGN(const SharedMemory memory,
                    SharedMemory::open(Descriptor(fcntl(reply.descriptors.front().get(), F_DUPFD_CLOEXEC, 0)),
                                       reply.body.value("size", std::size_t{0})));
  TOUCHSTONE_ASSIGN(const auto tensors, view_tensors(places, memory.bytes()));
  if (tensors.size() != tried.expected.size()) {
    return fail(Reason::kWrongResult, "{} outputs, {} are expected", tensors.size(), tried.expected.size());
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Verdict verdict = compare_tensors(tensors[i], tried.expected[i].view(),
                                            tolerance_for(tried.half_precision ? "f16" : "f32"), false);
    if (!verdict.equal) {
      result = {Outcome::kWrong, fmt::format("output {}: {}", i, verdict.message)};
      return {};
    }
  }
  return {};
}

Result<void> ConformanceColumn::try_case(const Case& tried, CaseResult& result) {
  if (!worker_ || !worker_->alive()) {
    WorkerLaunch launch;
    launch.name = label_;
    launch.command = engine_.command;
    launch.environment = engine_.environment;
    launch.timeout = kTimeout;
    launch.log_file = folder_ + "/worker.log";
    TOUCHSTONE_ASSIGN(worker_, WorkerClient::launch(launch, watch_));
  }
  TOUCHSTONE_ASSIGN(const std::string model, write_model(tried));
  TOUCHSTONE_ASSIGN(const TensorSet inputs, inputs_of(tried));
  Conditions conditions;
  conditions.mode = engine_.mode;
  TOUCHSTONE_TRY(worker_->call({{"do", "load"}, {"model", model}, {"conditions", to_json(conditions)}}));
  TOUCHSTONE_TRY(worker_->call(inputs.prepare_request()));
  const int descriptor = inputs.memory.descriptor();
  TOUCHSTONE_TRY(worker_->call(inputs.inputs_request(), std::span(&descriptor, 1)));
  TOUCHSTONE_ASSIGN(const Message reply, worker_->call({{"do", "infer"}, {"outputs", true}}));
  return judge(reply, tried, result);
}

CaseResult ConformanceColumn::run(const Case& tried) {
  CaseResult result;
  if (const auto done = try_case(tried, result); !done) {
    result = {outcome_of(done.error().reason), done.error().message};
  }
  return result;
}

}  // namespace touchstone
