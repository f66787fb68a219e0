// SPDX-License-Identifier: Apache-2.0
#include "make_engine.h"
#include "worker/harness.h"

namespace {

touchstone::Result<std::unique_ptr<touchstone::Engine>> make(const touchstone::WorkerArguments&) {
  return touchstone::pytorch::make_engine();
}

}  // namespace

int main(int argc, char** argv) {
  return touchstone::run_worker(argc, argv, "pytorch", make);
}
