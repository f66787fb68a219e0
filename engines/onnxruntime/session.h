// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime through its C API, loaded at run time so that one worker serves every version.
#pragma once

#include <onnxruntime_c_api.h>

#include <memory>
#include <string>
#include <vector>

#include "worker/engine.h"

namespace touchstone {

/// The library and its table of functions. `sdk` holds onnxruntime/capi/libonnxruntime.so.*.
/// Errors: engine-missing.
Result<const OrtApi*> load_onnxruntime(const std::string& sdk, std::string& version);

class OnnxRuntimeEngine final : public Engine {
 public:
  OnnxRuntimeEngine(const OrtApi* api, std::string version) : api_(api), version_(std::move(version)) {}
  ~OnnxRuntimeEngine() override;

  Result<EngineInfo> info() override;
  Result<Options> load(const LoadRequest& request) override;
  Result<void> prepare(std::span<const TensorSpec> inputs) override;
  Result<void> set_inputs(std::span<const TensorView> inputs) override;
  Result<void> infer() override;
  Result<std::vector<TensorView>> outputs() override;

 private:
  Error error_of(OrtStatus* status, Reason fallback) const;
  Result<void> check(OrtStatus* status, Reason fallback = Reason::kInternal) const;
  Result<void> make_options(OrtSessionOptions* options, std::span<const TensorSpec> inputs) const;
  Result<void> fix_dimensions(OrtSessionOptions* options, std::span<const TensorSpec> inputs) const;
  Result<void> open_session(std::span<const TensorSpec> inputs);
  Result<void> read_names();
  Result<void> read_dimension_names(std::size_t index, const OrtTypeInfo* info);
  void release_values(std::vector<OrtValue*>& values) const;
  void close_session();

  const OrtApi* api_;
  std::string version_;
  OrtEnv* environment_ = nullptr;
  OrtMemoryInfo* memory_ = nullptr;
  OrtSession* session_ = nullptr;
  LoadRequest request_;
  std::vector<std::string> input_names_, output_names_;
  std::vector<const char*> input_pointers_, output_pointers_;
  std::vector<std::vector<std::string>> dimension_names_;  // by input, in the order of the model
  std::vector<TensorSpec> input_specs_;
  std::vector<OrtValue*> input_values_, output_values_;
};

}  // namespace touchstone
