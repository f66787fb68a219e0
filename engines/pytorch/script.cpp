// SPDX-License-Identifier: Apache-2.0
#include "script.h"

#include <ATen/ops/zeros.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/sugared_value.h>
#include <torch/csrc/jit/passes/freeze_module.h>
#include <torch/csrc/jit/passes/frozen_graph_optimizations.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

namespace touchstone::pytorch {
namespace {

std::string value_name(int slot) {
  return fmt::format("v{}", slot);
}

// Constants are attributes of the module; everything else is a local variable.
std::string argument(const Program& program, int slot) {
  if (slot < 0) {
    return "self.nothing";
  }
  return program.constants()[static_cast<std::size_t>(slot)].defined() ? fmt::format("self.c{}", slot)
                                                                       : value_name(slot);
}

// Operators stay registered for as long as the process lives, so every module's have names of their own.
std::string operator_name(int module, std::size_t step) {
  return fmt::format("module_{}_step_{}", module, step);
}

// A step that has no text: its eager function, as an operator of the script.
torch::jit::Operator opaque_operator(const Program& program, int module, std::size_t index) {
  const Step& step = program.steps()[index];
  const Eager eager = step.call.eager;
  std::vector<bool> given;
  for (const int slot : step.inputs) {
    given.push_back(slot >= 0);
  }
  return torch::jit::Operator(
      fmt::format("touchstone::{}(Tensor[] inputs) -> Tensor[]", operator_name(module, index)),
      [eager, given](torch::jit::Stack& stack) {
        Tensors inputs = torch::jit::pop(stack).toTensorVector();
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          if (!given[i]) {
            inputs[i] = at::Tensor();
          }
        }
        torch::jit::push(stack, eager(inputs));
      },
      c10::AliasAnalysisKind::FROM_SCHEMA);
}

// `torch.f` is ATen's f, as in Python; `touchstone.f` one of the operators registered here.
struct ScriptResolver final : torch::jit::Resolver {
  std::shared_ptr<torch::jit::SugaredValue> resolveValue(const std::string& name, torch::jit::GraphFunction&,
                                                         const torch::jit::SourceRange&) override {
    if (name == "torch" || name == "touchstone") {
      return std::make_shared<torch::jit::BuiltinModule>(name == "torch" ? "aten" : name);
    }
    return nullptr;
  }
};

}  // namespace

std::string script_source(const Program& program, int module) {
  std::vector<std::string> parameters;
  for (const int slot : program.input_slots()) {
    parameters.push_back(value_name(slot) + ": Tensor");
  }
  std::string text = fmt::format("def forward(self, {}):\n", fmt::join(parameters, ", "));
  for (std::size_t i = 0; i < program.steps().size(); ++i) {
    const Step& step = program.steps()[i];
    std::vector<std::string> arguments;
    for (const int slot : step.inputs) {
      arguments.push_back(argument(program, slot));
    }
    if (step.call.script && step.outputs.size() == 1) {
      text += fmt::format("    {} = {}\n", value_name(step.outputs[0]), step.call.script(arguments));
      continue;
    }
    text += fmt::format("    r{} = touchstone.{}([{}])\n", i, operator_name(module, i),
                        fmt::join(arguments, ", "));
    for (std::size_t j = 0; j < step.outputs.size(); ++j) {
      if (step.outputs[j] >= 0) {
        text += fmt::format("    {} = r{}[{}]\n", value_name(step.outputs[j]), i, j);
      }
    }
  }
  std::vector<std::string> results;
  for (const int slot : program.output_slots()) {
    results.push_back(argument(program, slot) + ".contiguous()");
  }
  return text + fmt::format("    return [{}]\n", fmt::join(results, ", "));
}

torch::jit::Module make_module(const Program& program) {
  static int modules = 0;
  const int number = modules++;
  std::vector<std::optional<torch::jit::Operator>> operators;
  for (std::size_t i = 0; i < program.steps().size(); ++i) {
    const Step& step = program.steps()[i];
    if (!step.call.script || step.outputs.size() != 1) {
      operators.push_back(opaque_operator(program, number, i));
    }
  }
  const torch::jit::RegisterOperators registered(std::move(operators));
  torch::jit::Module module("touchstone_model");
  for (std::size_t slot = 0; slot < program.constants().size(); ++slot) {
    if (program.constants()[slot].defined()) {
      module.register_parameter(fmt::format("c{}", slot), program.constants()[slot], false);
    }
  }
  module.register_buffer("nothing", at::Tensor(at::zeros({0})));
  // Without this attribute optimize_for_inference takes the module to be in training and silently skips
  // freezing.
  module.register_attribute("training", c10::BoolType::get(), false);
  module.define(script_source(program, number), std::make_shared<ScriptResolver>());
  module.eval();
  return torch::jit::optimize_for_inference(module);
}

}  // namespace touchstone::pytorch
