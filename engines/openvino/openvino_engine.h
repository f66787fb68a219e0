// SPDX-License-Identifier: Apache-2.0
// OpenVINO's CPU plugin, with everything said that its defaults would decide otherwise.
#pragma once

#include <memory>
#include <openvino/openvino.hpp>
#include <string>
#include <vector>

#include "worker/engine.h"

namespace touchstone {

class OpenVinoEngine final : public Engine {
 public:
  Result<EngineInfo> info() override;
  Result<Options> load(const LoadRequest& request) override;
  Result<void> prepare(std::span<const TensorSpec> inputs) override;
  Result<void> set_inputs(std::span<const TensorView> inputs) override;
  Result<void> infer() override;
  Result<std::vector<TensorView>> outputs() override;

 private:
  ov::CompiledModel compile(const std::shared_ptr<ov::Model>& model);

  ov::Core core_;
  LoadRequest request_;
  ov::AnyMap properties_;
  std::shared_ptr<ov::Model> model_;  // as read; cloned for each fixed shape
  ov::CompiledModel compiled_;
  ov::InferRequest infer_;
  std::vector<ov::Tensor> inputs_;
};

}  // namespace touchstone
