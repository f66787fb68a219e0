// SPDX-License-Identifier: Apache-2.0
#include "pytorch_engine.h"
#include "worker/harness.h"

namespace {

touchstone::Result<std::unique_ptr<touchstone::Engine>> make(const touchstone::WorkerArguments&) {
  return std::make_unique<touchstone::pytorch::PyTorchEngine>();
}

}  // namespace

int main(int argc, char** argv) {
  return touchstone::run_worker(argc, argv, "pytorch", make);
}
