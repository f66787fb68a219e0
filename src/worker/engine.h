// SPDX-License-Identifier: Apache-2.0
// What an engine is to Touchstone: the one interface that a C++ worker implements. The harness (harness.h)
// speaks the protocol, runs the timing loop and never looks past this class.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/types.h"

namespace touchstone {

/// Options by name, as the engine's own documentation spells them; whatever could change a time is in here.
using Options = std::map<std::string, std::string>;

/// What every engine of a plan is told alike.
struct Conditions {
  std::string mode = "default";  // a mode of the engine's manifest
  std::string device = "cpu";    // `cpu`, `cuda:0`, ...
  std::string precision = "f32";
  std::string shape_mode = "dynamic";  // `fixed` or `dynamic`
  int threads = 1;                     // intra-op; inter-op is 1
  Options options;                     // asked for by the user
};

struct EngineInfo {
  std::string name;
  std::string version;  // as the loaded library reports it
  Options build;        // compiler, BLAS, instruction sets: what the library says of itself
};

struct LoadRequest {
  std::string sdk;    // folder of the engine's SDK
  std::string model;  // the form's file: model.onnx or graph.json
  Conditions conditions;
};

/// The outputs of a prepared session, in the graph's order.
struct TensorSpec {
  std::string name;
  DataType type = DataType::kUndefined;
  std::vector<std::int64_t> shape;
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual Result<EngineInfo> info() = 0;

  /// Reads the model and sets threads, precision and device. Returns every option in force.
  /// Errors: unsupported-operator, unsupported, invalid-model, out-of-memory, device-missing.
  virtual Result<Options> load(const LoadRequest& request) = 0;

  /// Makes a session ready for these input shapes: in `fixed` mode a fresh one compiled for exactly them, in
  /// `dynamic` mode the one that serves all shapes. Allocates and binds the engine's own input tensors (in
  /// the graph's order).
  virtual Result<void> prepare(std::span<const TensorSpec> inputs) = 0;

  /// Copies values into the bound input tensors; not timed. Same order, types and shapes as prepare's.
  virtual Result<void> set_inputs(std::span<const TensorView> inputs) = 0;

  /// The timed call: one inference from the bound inputs. Returns when it has been submitted; `synchronize`
  /// waits.
  virtual Result<void> infer() = 0;

  /// Waits until the outputs of the last `infer` are readable on the host. Timed too. Nothing to do on a CPU.
  virtual Result<void> synchronize() { return {}; }

  /// The last inference's outputs, valid until the next call of any member.
  virtual Result<std::vector<TensorView>> outputs() = 0;
};

}  // namespace touchstone
