// SPDX-License-Identifier: Apache-2.0
#include "reference/interpreter.h"

#include "reference/program.h"

namespace touchstone {

Interpreter::Interpreter(Graph graph) : graph_(std::move(graph)) {}
Interpreter::~Interpreter() = default;

Result<std::unique_ptr<Interpreter>> Interpreter::create(Graph graph, int threads) {
  set_reference_threads(threads);
  std::unique_ptr<Interpreter> interpreter(new Interpreter(std::move(graph)));
  const Graph& whole = interpreter->graph_;
  TOUCHSTONE_ASSIGN(interpreter->program_, Program::create(whole, whole.opset(), interpreter->weights_));
  return interpreter;
}

Result<std::vector<Value>> Interpreter::run(std::map<std::string, Value> inputs) {
  return program_->run(std::move(inputs), nullptr);
}

}  // namespace touchstone
