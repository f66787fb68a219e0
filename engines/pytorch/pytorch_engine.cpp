// SPDX-License-Identifier: Apache-2.0
#include "pytorch_engine.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/headeronly/version.h>

#include <cstring>
#include <new>

#include "make_engine.h"

namespace touchstone::pytorch {
namespace {

Error error_from(const std::exception& error, Reason fallback) {
  const std::string text = error.what();
  const bool memory = text.find("can't allocate memory") != std::string::npos ||
                      text.find("not enough memory") != std::string::npos ||
                      text.find("bad_alloc") != std::string::npos;
  return {memory ? Reason::kOutOfMemory : fallback, text.substr(0, 600)};
}

}  // namespace

Result<EngineInfo> PyTorchEngine::info() {
  return EngineInfo{"pytorch",
                    TORCH_VERSION,
                    {{"cpu_capability", at::get_cpu_capability()}, {"configuration", at::show_config()}}};
}

Result<Options> PyTorchEngine::load(const LoadRequest& request) {
  const Conditions& conditions = request.conditions;
  if (conditions.device != "cpu") {
    return fail(Reason::kDeviceMissing, "device {}: this worker runs on the CPU", conditions.device);
  }
  if (conditions.precision != "f32") {
    return fail(Reason::kUnsupported, "precision {}: not offered by this worker", conditions.precision);
  }
  if (!conditions.options.empty()) {
    return fail(Reason::kUsage, "pytorch takes no options here; '{}' was given",
                conditions.options.begin()->first);
  }
  at::set_num_threads(conditions.threads);
  if (at::get_num_interop_threads() != 1) {  // PyTorch lets it be set once in a process
    at::set_num_interop_threads(1);
  }
  at::globalContext().setFloat32MatmulPrecision("highest");
  module_.reset();
  outputs_.clear();
  TOUCHSTONE_ASSIGN(Graph graph, read_graph(request.model));
  try {
    const c10::InferenceMode guard;
    TOUCHSTONE_ASSIGN(program_, Program::create(std::move(graph)));
  } catch (const std::exception& error) {
    return tl::unexpected(error_from(error, Reason::kInvalidModel));
  }
  try {
    if (conditions.mode == "torchscript") {
      module_ = make_module(*program_);
    }
  } catch (const std::exception& error) {
    return tl::unexpected(error_from(error, Reason::kInternal));
  }
  return Options{{"num_threads", std::to_string(at::get_num_threads())},
                 {"num_interop_threads", std::to_string(at::get_num_interop_threads())},
                 {"float32_matmul_precision", "highest"},
                 {"inference_mode", "on"},
                 {"optimize_for_inference", conditions.mode == "torchscript" ? "on" : "off"}};
}

Result<void> PyTorchEngine::prepare(std::span<const TensorSpec> inputs) {
  const c10::InferenceMode guard;
  inputs_.clear();
  for (const TensorSpec& spec : inputs) {
    TOUCHSTONE_ASSIGN(const at::ScalarType type, scalar_type(spec.type));
    inputs_.push_back(at::empty(spec.shape, at::TensorOptions().dtype(type)));
  }
  return {};
}

Result<void> PyTorchEngine::set_inputs(std::span<const TensorView> inputs) {
  if (inputs.size() != inputs_.size()) {
    return fail(Reason::kInvalidInput, "{} inputs came, the session was prepared for {}", inputs.size(),
                inputs_.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].bytes.empty()) {
      std::memcpy(inputs_[i].mutable_data_ptr(), inputs[i].bytes.data(), inputs[i].bytes.size());
    }
  }
  return {};
}

Result<void> PyTorchEngine::infer() {
  try {
    const c10::InferenceMode guard;
    if (module_) {
      std::vector<c10::IValue> arguments(inputs_.begin(), inputs_.end());
      outputs_ = module_->forward(std::move(arguments)).toTensorVector();
    } else {
      outputs_ = program_->run(inputs_);
    }
  } catch (const std::bad_alloc&) {
    return fail(Reason::kOutOfMemory, "an allocation failed");
  } catch (const std::exception& error) {
    return tl::unexpected(error_from(error, Reason::kInvalidInput));
  }
  return {};
}

Result<std::vector<TensorView>> PyTorchEngine::outputs() {
  std::vector<TensorView> views;
  for (const at::Tensor& tensor : outputs_) {
    TensorView view;
    view.type = data_type(tensor.scalar_type());
    view.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
    view.bytes = {static_cast<std::byte*>(const_cast<void*>(tensor.const_data_ptr())), tensor.nbytes()};
    views.push_back(std::move(view));
  }
  return views;
}

std::unique_ptr<Engine> make_engine() {
  return std::make_unique<PyTorchEngine>();
}

}  // namespace touchstone::pytorch
