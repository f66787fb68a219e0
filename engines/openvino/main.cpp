// SPDX-License-Identifier: Apache-2.0
#include "openvino_engine.h"
#include "worker/harness.h"

namespace {

touchstone::Result<std::unique_ptr<touchstone::Engine>> make(const touchstone::WorkerArguments&) {
  return std::make_unique<touchstone::OpenVinoEngine>();
}

}  // namespace

int main(int argc, char** argv) {
  return touchstone::run_worker(argc, argv, "openvino", make);
}
