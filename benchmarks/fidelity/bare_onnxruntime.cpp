// SPDX-License-Identifier: Apache-2.0
// A bare loop over ONNX Runtime's C API: LIBRARY MODEL BATCH SEQ THREADS.
#include <dlfcn.h>
#include <onnxruntime_c_api.h>

#include <cstdlib>

#include "bare.h"

namespace {

const OrtApi* api = nullptr;

void check(OrtStatus* status) {
  if (status != nullptr) {
    std::cerr << api->GetErrorMessage(status) << "\n";
    std::exit(1);
  }
}

}  // namespace

int main(int, char** argv) {
  void* library = dlopen(argv[1], RTLD_NOW);
  api = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"))()->GetApi(ORT_API_VERSION);
  const std::int64_t shape[] = {std::atoll(argv[3]), std::atoll(argv[4])};
  OrtEnv* environment = nullptr;
  OrtSessionOptions* options = nullptr;
  OrtSession* session = nullptr;
  check(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "bare", &environment));
  check(api->CreateSessionOptions(&options));
  check(api->SetIntraOpNumThreads(options, std::atoi(argv[5])));
  check(api->CreateSession(environment, argv[2], options, &session));
  OrtAllocator* allocator = nullptr;
  check(api->GetAllocatorWithDefaultOptions(&allocator));
  OrtValue* inputs[3] = {};
  for (int i = 0; i < 3; ++i) {
    check(api->CreateTensorAsOrtValue(allocator, shape, 2, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, &inputs[i]));
    void* data = nullptr;
    check(api->GetTensorMutableData(inputs[i], &data));
    std::fill_n(static_cast<std::int64_t*>(data), shape[0] * shape[1], i == 0 ? 7 : i == 1 ? 1 : 0);
  }
  const char* names[] = {"input_ids", "attention_mask", "token_type_ids"};
  const char* outputs[] = {"last_hidden_state", "pooler_output"};
  OrtValue* results[2] = {};
  return serve_bare_loop([&] { check(api->Run(session, nullptr, names, inputs, 3, outputs, 2, results)); });
}
