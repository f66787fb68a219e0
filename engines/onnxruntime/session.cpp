// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <cstring>

namespace touchstone {
namespace {

// Our element types are numbered as ONNX's; ONNX Runtime's enumeration has the same order but for its narrow
// types.
ONNXTensorElementDataType ort_type(DataType type) {
  return static_cast<ONNXTensorElementDataType>(type);
}

Reason reason_of(OrtErrorCode code, const std::string& text, Reason fallback) {
  if (code == ORT_NOT_IMPLEMENTED || text.find("is not a registered function/op") != std::string::npos ||
      text.find("Could not find an implementation") != std::string::npos) {
    return Reason::kUnsupportedOperator;
  }
  for (const char* sign : {"bad_alloc", "Failed to allocate", "Cannot allocate memory", "out of memory"}) {
    if (text.find(sign) != std::string::npos) {
      return Reason::kOutOfMemory;
    }
  }
  return fallback;
}

std::string option_or(const Options& options, const std::string& key, const std::string& fallback) {
  const auto found = options.find(key);
  return found == options.end() ? fallback : found->second;
}

}  // namespace

OnnxRuntimeEngine::~OnnxRuntimeEngine() {
  close_session();
  if (memory_ != nullptr) {
    api_->ReleaseMemoryInfo(memory_);
  }
  if (environment_ != nullptr) {
    api_->ReleaseEnv(environment_);
  }
}

Error OnnxRuntimeEngine::error_of(OrtStatus* status, Reason fallback) const {
  const std::string text = api_->GetErrorMessage(status);
  const Reason reason = reason_of(api_->GetErrorCode(status), text, fallback);
  api_->ReleaseStatus(status);
  return {reason, text};
}

Result<void> OnnxRuntimeEngine::check(OrtStatus* status, Reason fallback) const {
  if (status == nullptr) [[likely]] {
    return {};
  }
  return tl::unexpected(error_of(status, fallback));
}

Result<EngineInfo> OnnxRuntimeEngine::info() {
  return EngineInfo{"onnxruntime", version_, {{"provider", "CPUExecutionProvider"}}};
}

Result<Options> OnnxRuntimeEngine::load(const LoadRequest& request) {
  if (request.conditions.precision != "f32") {
    return fail(Reason::kUnsupported, "precision {}: this worker runs models in their own types only",
                request.conditions.precision);
  }
  if (request.conditions.device != "cpu") {
    return fail(Reason::kDeviceMissing, "device {}: this worker has the CPU provider only",
                request.conditions.device);
  }
  close_session();
  request_ = request;
  if (environment_ == nullptr) {
    TOUCHSTONE_TRY(check(api_->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "touchstone", &environment_)));
    TOUCHSTONE_TRY(check(api_->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory_)));
  }
  // In fixed mode a session is opened anew for every shape; this one tells the names of the dimensions.
  TOUCHSTONE_TRY(open_session({}));
  return Options{
      {"intra_op_num_threads", std::to_string(request.conditions.threads)},
      {"inter_op_num_threads", "1"},
      {"execution_mode", "sequential"},
      {"graph_optimization_level", option_or(request.conditions.options, "graph_optimization_level", "all")},
      {"session.intra_op.allow_spinning",
       option_or(request.conditions.options, "session.intra_op.allow_spinning", "1")},
      {"session.set_denormal_as_zero",
       option_or(request.conditions.options, "session.set_denormal_as_zero", "0")}};
}

Result<void> OnnxRuntimeEngine::make_options(OrtSessionOptions* options,
                                             std::span<const TensorSpec> inputs) const {
  const Conditions& conditions = request_.conditions;
  TOUCHSTONE_TRY(check(api_->SetIntraOpNumThreads(options, conditions.threads)));
  TOUCHSTONE_TRY(check(api_->SetInterOpNumThreads(options, 1)));
  TOUCHSTONE_TRY(check(api_->SetSessionExecutionMode(options, ORT_SEQUENTIAL)));
  const std::string level = option_or(conditions.options, "graph_optimization_level", "all");
  const GraphOptimizationLevel known = level == "disable"    ? ORT_DISABLE_ALL
                                       : level == "basic"    ? ORT_ENABLE_BASIC
                                       : level == "extended" ? ORT_ENABLE_EXTENDED
                                                             : ORT_ENABLE_ALL;
  TOUCHSTONE_TRY(check(api_->SetSessionGraphOptimizationLevel(options, known)));
  for (const auto& [key, value] : conditions.options) {
    if (key == "optimized_model_filepath") {
      TOUCHSTONE_TRY(check(api_->SetOptimizedModelFilePath(options, value.c_str())));
    } else if (key.starts_with("session.")) {
      TOUCHSTONE_TRY(check(api_->AddSessionConfigEntry(options, key.c_str(), value.c_str()), Reason::kUsage));
    } else if (key != "graph_optimization_level") {
      return fail(
          Reason::kUsage,
          "onnxruntime has no option '{}' here; known: graph_optimization_level, optimized_model_filepath, "
          "session.* (its session configuration keys)",
          key);
    }
  }
  return fix_dimensions(options, inputs);
}

// In fixed mode each symbolic dimension gets its value before the graph is optimised.
Result<void> OnnxRuntimeEngine::fix_dimensions(OrtSessionOptions* options,
                                               std::span<const TensorSpec> inputs) const {
  for (std::size_t i = 0; i < inputs.size() && i < dimension_names_.size(); ++i) {
    for (std::size_t axis = 0; axis < dimension_names_[i].size() && axis < inputs[i].shape.size(); ++axis) {
      const std::string& name = dimension_names_[i][axis];
      if (!name.empty()) {
        TOUCHSTONE_TRY(
            check(api_->AddFreeDimensionOverrideByName(options, name.c_str(), inputs[i].shape[axis])));
      }
    }
  }
  return {};
}

Result<void> OnnxRuntimeEngine::open_session(std::span<const TensorSpec> inputs) {
  close_session();
  OrtSessionOptions* options = nullptr;
  TOUCHSTONE_TRY(check(api_->CreateSessionOptions(&options)));
  auto made = make_options(options, inputs);
  if (made) {
    made = check(api_->CreateSession(environment_, request_.model.c_str(), options, &session_),
                 Reason::kInvalidModel);
  }
  api_->ReleaseSessionOptions(options);
  TOUCHSTONE_TRY(made);
  return read_names();
}

Result<void> OnnxRuntimeEngine::read_names() {
  OrtAllocator* allocator = nullptr;
  TOUCHSTONE_TRY(check(api_->GetAllocatorWithDefaultOptions(&allocator)));
  std::size_t count = 0;
  TOUCHSTONE_TRY(check(api_->SessionGetInputCount(session_, &count)));
  input_names_.clear();
  dimension_names_.assign(count, {});
  for (std::size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    TOUCHSTONE_TRY(check(api_->SessionGetInputName(session_, i, allocator, &name)));
    input_names_.emplace_back(name);
    TOUCHSTONE_TRY(check(api_->AllocatorFree(allocator, name)));
    OrtTypeInfo* info = nullptr;
    TOUCHSTONE_TRY(check(api_->SessionGetInputTypeInfo(session_, i, &info)));
    const auto read = read_dimension_names(i, info);
    api_->ReleaseTypeInfo(info);
    TOUCHSTONE_TRY(read);
  }
  TOUCHSTONE_TRY(check(api_->SessionGetOutputCount(session_, &count)));
  output_names_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    TOUCHSTONE_TRY(check(api_->SessionGetOutputName(session_, i, allocator, &name)));
    output_names_.emplace_back(name);
    TOUCHSTONE_TRY(check(api_->AllocatorFree(allocator, name)));
  }
  output_pointers_.clear();
  for (const std::string& name : output_names_) {
    output_pointers_.push_back(name.c_str());
  }
  return {};
}

Result<void> OnnxRuntimeEngine::read_dimension_names(std::size_t index, const OrtTypeInfo* info) {
  const OrtTensorTypeAndShapeInfo* shape = nullptr;
  TOUCHSTONE_TRY(check(api_->CastTypeInfoToTensorInfo(info, &shape)));
  if (shape == nullptr) {
    return {};
  }
  std::size_t rank = 0;
  TOUCHSTONE_TRY(check(api_->GetDimensionsCount(shape, &rank)));
  std::vector<const char*> names(rank);
  TOUCHSTONE_TRY(check(api_->GetSymbolicDimensions(shape, names.data(), rank)));
  for (const char* name : names) {
    dimension_names_[index].emplace_back(name == nullptr ? "" : name);
  }
  return {};
}

Result<void> OnnxRuntimeEngine::prepare(std::span<const TensorSpec> inputs) {
  if (request_.conditions.shape_mode == "fixed") {
    TOUCHSTONE_TRY(open_session(inputs));
  }
  release_values(input_values_);
  release_values(output_values_);
  input_specs_.assign(inputs.begin(), inputs.end());
  OrtAllocator* allocator = nullptr;
  TOUCHSTONE_TRY(check(api_->GetAllocatorWithDefaultOptions(&allocator)));
  input_pointers_.clear();
  for (const TensorSpec& spec : input_specs_) {
    OrtValue* value = nullptr;
    TOUCHSTONE_TRY(check(api_->CreateTensorAsOrtValue(allocator, spec.shape.data(), spec.shape.size(),
                                                      ort_type(spec.type), &value),
                         Reason::kUnsupported));
    input_values_.push_back(value);
    input_pointers_.push_back(spec.name.c_str());
  }
  output_values_.assign(output_names_.size(), nullptr);
  return {};
}

Result<void> OnnxRuntimeEngine::set_inputs(std::span<const TensorView> inputs) {
  if (inputs.size() != input_values_.size()) {
    return fail(Reason::kInvalidInput, "{} inputs came, the session was prepared for {}", inputs.size(),
                input_values_.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    void* data = nullptr;
    TOUCHSTONE_TRY(check(api_->GetTensorMutableData(input_values_[i], &data)));
    if (!inputs[i].bytes.empty()) {
      std::memcpy(data, inputs[i].bytes.data(), inputs[i].bytes.size());
    }
  }
  return {};
}

// The first run lets ONNX Runtime allocate the outputs; later runs write into those same tensors.
Result<void> OnnxRuntimeEngine::infer() {
  return check(api_->Run(session_, nullptr, input_pointers_.data(), input_values_.data(),
                         input_values_.size(), output_pointers_.data(), output_pointers_.size(),
                         output_values_.data()));
}

Result<std::vector<TensorView>> OnnxRuntimeEngine::outputs() {
  std::vector<TensorView> views;
  for (OrtValue* value : output_values_) {
    OrtTensorTypeAndShapeInfo* info = nullptr;
    TOUCHSTONE_TRY(check(api_->GetTensorTypeAndShape(value, &info)));
    ONNXTensorElementDataType type{};
    std::size_t rank = 0;
    TensorView view;
    auto read = check(api_->GetTensorElementType(info, &type));
    if (read) {
      read = check(api_->GetDimensionsCount(info, &rank));
    }
    if (read) {
      view.shape.resize(rank);
      read = check(api_->GetDimensions(info, view.shape.data(), rank));
    }
    api_->ReleaseTensorTypeAndShapeInfo(info);
    TOUCHSTONE_TRY(read);
    view.type = static_cast<DataType>(type);
    void* data = nullptr;
    TOUCHSTONE_TRY(check(api_->GetTensorMutableData(value, &data)));
    view.bytes = {static_cast<std::byte*>(data), byte_size(view.type, element_count(view.shape))};
    views.push_back(std::move(view));
  }
  return views;
}

void OnnxRuntimeEngine::release_values(std::vector<OrtValue*>& values) const {
  for (OrtValue* value : values) {
    if (value != nullptr) {
      api_->ReleaseValue(value);
    }
  }
  values.clear();
}

void OnnxRuntimeEngine::close_session() {
  release_values(input_values_);
  release_values(output_values_);
  if (session_ != nullptr) {
    api_->ReleaseSession(session_);
    session_ = nullptr;
  }
}

}  // namespace touchstone
