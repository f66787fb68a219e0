// SPDX-License-Identifier: Apache-2.0
// Files of numpy and ONNX as tests need them, written byte by byte.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace touchstone {

/// An .npy file of version 1. `type` is numpy's word: "<f4".
std::string npy_file(const std::string& type, const std::vector<std::int64_t>& shape, const std::string& data,
                     bool fortran = false);

/// An .npz file of arrays by name.
void write_npz(const std::string& path, const std::map<std::string, std::string>& arrays,
               bool compressed = false);

/// The bytes of numbers, as they lie in memory.
template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// A value of a graph; a dimension is a number or a name.
struct OnnxValue {
  std::string name;
  int type = 1;  // TensorProto's number: 1 float, 7 int64
  std::vector<std::string> shape;
};

struct OnnxNode {
  std::string op_type;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

/// A model (ModelProto, format 8) of nodes without attributes.
std::string onnx_model(const std::vector<OnnxNode>& nodes, const std::vector<OnnxValue>& inputs,
                       const std::vector<OnnxValue>& outputs, int opset = 17);

/// A tensor (TensorProto), as ONNX's test data has them.
std::string onnx_tensor(const std::string& name, int type, const std::vector<std::int64_t>& shape,
                        const std::string& data);

}  // namespace touchstone
