// SPDX-License-Identifier: Apache-2.0
// A model on disk in neutral form: bundle.json, graph-FORM.json, weights.bin, and model-FORM.onnx for engines
// that read ONNX. Workers read this without protobuf.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "graph/inputs.h"
#include "graph/types.h"

namespace touchstone {

/// One form of the model; paths are absolute after reading.
struct FormFiles {
  std::string onnx;
  std::string graph;
};

struct Bundle {
  std::string folder;
  std::string name;
  std::string source;  // `zoo:NAME` or the absolute path of a file
  std::string hash;    // names the content: source graph and weights
  std::uint64_t parameters = 0;
  std::uint64_t weight_bytes = 0;
  std::optional<std::int64_t> max_sequence;
  std::vector<std::string> dimensions;  // the symbolic dimensions of the inputs, batch first
  std::vector<InputRule> inputs;
  std::vector<ValueInfo> outputs;
  std::map<std::string, int> opsets;     // domain -> version, of the source form
  std::map<std::string, int> operators;  // how often each operator stands in the source form
  std::map<std::string, FormFiles> forms;
  bool row_independent =
      false;  // dimension 0 of every input and output is the same symbol; a hint, not yet a proof
};

nlohmann::json to_json(const Bundle& bundle);
/// Errors: invalid-model, naming the field.
Result<Bundle> bundle_from_json(const nlohmann::json& json, const std::string& folder);
Result<Bundle> read_bundle(const std::string& folder);

/// Graph as JSON. Constants beyond 1 KiB must already lie in a file; smaller ones are written into the text.
nlohmann::json to_json(const Graph& graph);
Result<Graph> graph_from_json(const nlohmann::json& json);

/// Files of constants are made absolute against the folder of `path`. Errors: invalid-model, storage.
Result<Graph> read_graph(const std::string& path);
Result<void> write_text_file(const std::string& path, const std::string& text);
Result<std::string> read_text_file(const std::string& path);

/// Maps the files that constants point into, each once, read-only. Views live as long as the map.
class WeightMap {
 public:
  /// The constant's bytes, in memory or mapped. Errors: invalid-model where the file is missing or shorter
  /// than the constant says.
  Result<std::span<const std::byte>> bytes(const Constant& constant);

 private:
  struct Mapping {
    const std::byte* data = nullptr;
    std::size_t size = 0;
    Mapping(const std::byte* data, std::size_t size) : data(data), size(size) {}
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();
  };
  Result<const Mapping*> map(const std::string& file);

  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Mapping>> mappings_;
};

/// A small constant that owns its bytes.
template <class T>
Constant make_constant(DataType type, std::vector<std::int64_t> shape, std::span<const T> values) {
  Constant constant;
  constant.type = type;
  constant.shape = std::move(shape);
  const auto bytes = std::as_bytes(values);
  constant.owned = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  constant.size = bytes.size();
  return constant;
}

}  // namespace touchstone
