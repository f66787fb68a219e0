// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "program.h"
#include "script.h"
#include "worker/engine.h"

namespace touchstone::pytorch {

/// Modes `eager` (op by op, as a user's forward runs) and `torchscript`.
class PyTorchEngine final : public Engine {
 public:
  Result<EngineInfo> info() override;
  Result<Options> load(const LoadRequest& request) override;
  Result<void> prepare(std::span<const TensorSpec> inputs) override;
  Result<void> set_inputs(std::span<const TensorView> inputs) override;
  Result<void> infer() override;
  Result<std::vector<TensorView>> outputs() override;

 private:
  std::unique_ptr<Program> program_;
  std::optional<torch::jit::Module> module_;
  Tensors inputs_, outputs_;
};

}  // namespace touchstone::pytorch
