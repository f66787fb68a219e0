// SPDX-License-Identifier: Apache-2.0
#include "support/arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zip.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace touchstone {
namespace {

// protobuf's wire format: numbers as varints, texts and messages with their length.
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7U) {
    bytes += static_cast<char>((value & 0x7FU) | 0x80U);
  }
  return bytes + static_cast<char>(value);
}

std::string number(std::uint64_t field, std::uint64_t value) {
  return varint(field << 3U) + varint(value);
}

std::string text(std::uint64_t field, const std::string& value) {
  return varint(field << 3U | 2U) + varint(value.size()) + value;
}

std::string value_info(const OnnxValue& value) {
  std::string shape;
  for (const std::string& dimension : value.shape) {
    const bool is_number =
        std::all_of(dimension.begin(), dimension.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    shape += text(1, is_number ? number(1, std::stoull(dimension)) : text(2, dimension));
  }
  const std::string tensor = number(1, static_cast<std::uint64_t>(value.type)) + text(2, shape);
  return text(1, value.name) + text(2, text(1, tensor));
}

}  // namespace

std::string npy_file(const std::string& type, const std::vector<std::int64_t>& shape, const std::string& data,
                     bool fortran) {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': ({}{}), }}", type,
                  fortran ? "True" : "False", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  header.resize((header.size() + 11 + 63) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  std::string file = "\x93NUMPY";
  file += '\x01';
  file += '\0';
  file += static_cast<char>(header.size() & 0xFFU);
  file += static_cast<char>(header.size() >> 8U);
  return file + header + data;
}

void write_npz(const std::string& path, const std::map<std::string, std::string>& arrays, bool compressed) {
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  for (const auto& [name, file] : arrays) {
    zip_source_t* source = zip_source_buffer(archive, file.data(), file.size(), 0);
    const zip_int64_t index = zip_file_add(archive, (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(index),
                             compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  if (zip_close(archive) != 0) {
    throw std::runtime_error(path + " cannot be written");
  }
}

std::string onnx_model(const std::vector<OnnxNode>& nodes, const std::vector<OnnxValue>& inputs,
                       const std::vector<OnnxValue>& outputs, int opset) {
  std::string graph;
  for (const OnnxNode& node : nodes) {
    std::string bytes;
    for (const std::string& input : node.inputs) {
      bytes += text(1, input);
    }
    for (const std::string& output : node.outputs) {
      bytes += text(2, output);
    }
    graph += text(1, bytes + text(4, node.op_type));
  }
  graph += text(2, "test");
  for (const OnnxValue& input : inputs) {
    graph += text(11, value_info(input));
  }
  for (const OnnxValue& output : outputs) {
    graph += text(12, value_info(output));
  }
  return number(1, 8) + text(7, graph) + text(8, number(2, static_cast<std::uint64_t>(opset)));
}

std::string onnx_tensor(const std::string& name, int type, const std::vector<std::int64_t>& shape,
                        const std::string& data) {
  std::string bytes;
  for (const std::int64_t dimension : shape) {
    bytes += number(1, static_cast<std::uint64_t>(dimension));
  }
  return bytes + number(2, static_cast<std::uint64_t>(type)) + text(8, name) + text(9, data);
}

}  // namespace touchstone
