// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <filesystem>

#include "session.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

// The library's file name carries its version: libonnxruntime.so.1.32.0.
Result<std::string> find_library(const std::string& sdk) {
  const fs::path folder = fs::path(sdk) / "onnxruntime" / "capi";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename().string().starts_with("libonnxruntime.so")) {
      return entry.path().string();
    }
  }
  return fail(Reason::kEngineMissing,
              "{}: no libonnxruntime.so in it; `touchstone engines install onnxruntime`", folder.string());
}

}  // namespace

Result<const OrtApi*> load_onnxruntime(const std::string& sdk, std::string& version) {
  TOUCHSTONE_ASSIGN(const std::string path, find_library(sdk));
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return fail(Reason::kEngineMissing, "{}: does not load: {}", path, dlerror());
  }
  auto* get = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  if (get == nullptr) {
    return fail(Reason::kEngineMissing, "{}: has no OrtGetApiBase; is it ONNX Runtime?", path);
  }
  version = get()->GetVersionString();
  // A library older than the headers knows fewer functions; those used here are all in API 11.
  const OrtApi* api = nullptr;
  for (unsigned level = ORT_API_VERSION; api == nullptr && level >= 11; --level) {
    api = get()->GetApi(level);
  }
  if (api == nullptr) {
    return fail(Reason::kEngineMissing, "{}: version {} is older than this worker can use (1.11)", path,
                version);
  }
  return api;
}

}  // namespace touchstone
