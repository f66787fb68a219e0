// SPDX-License-Identifier: Apache-2.0
#include "session.h"
#include "worker/harness.h"

namespace {

touchstone::Result<std::unique_ptr<touchstone::Engine>> make(const touchstone::WorkerArguments& arguments) {
  std::string version;
  TOUCHSTONE_ASSIGN(const OrtApi* api, touchstone::load_onnxruntime(arguments.sdk, version));
  return std::make_unique<touchstone::OnnxRuntimeEngine>(api, version);
}

}  // namespace

int main(int argc, char** argv) {
  return touchstone::run_worker(argc, argv, "onnxruntime", make);
}
