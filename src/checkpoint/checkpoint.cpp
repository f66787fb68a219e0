// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/bundle.h"
#include "graph/half.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Kind {
  std::string single;  // the file's name where there is one file
  std::string index;   // the index's name where there are shards
  Result<TensorIndex> (*read)(const std::string& path);
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kKinds = {
      {"model.safetensors", "model.safetensors.index.json", read_safetensors},
      {"pytorch_model.bin", "pytorch_model.bin.index.json", read_pytorch},
  };
  return kKinds;
}

struct Found {
  const Kind* kind;
  std::vector<std::string> files;  // of tensors
  std::string index;               // empty where there is none
  json weight_map;                 // tensor -> file name
};

Result<Found> find_files(const std::string& folder) {
  for (const Kind& kind : kinds()) {
    std::error_code ignored;
    const fs::path single = fs::path(folder) / kind.single;
    if (fs::exists(single, ignored)) {
      return Found{&kind, {single.string()}, "", {}};
    }
    const fs::path index = fs::path(folder) / kind.index;
    if (!fs::exists(index, ignored)) {
      continue;
    }
    TOUCHSTONE_ASSIGN(const std::string text, read_text_file(index.string()));
    const json parsed = json::parse(text, nullptr, false);
    const json map = parsed.is_object() ? parsed.value("weight_map", json()) : json();
    if (!map.is_object()) {
      return fail(Reason::kInvalidModel, "{}: has no object 'weight_map'", index.string());
    }
    std::set<std::string> names;
    for (const auto& [tensor, file] : map.items()) {
      const auto name = file.is_string() ? file.get<std::string>() : std::string();
      if (name.empty() || name.find('/') != std::string::npos || name == "..") {
        return fail(Reason::kInvalidModel, "{}: tensor '{}' lies in {}, which is no file of this folder",
                    index.string(), tensor, file.dump(-1, ' ', false, json::error_handler_t::replace));
      }
      names.insert(name);
    }
    Found found{&kind, {}, index.string(), map};
    for (const std::string& name : names) {
      found.files.push_back((fs::path(folder) / name).string());
    }
    return found;
  }
  return fail(Reason::kInvalidModel,
              "{}: holds neither model.safetensors nor pytorch_model.bin, nor an index of either", folder);
}

double as_double(DataType type, const std::byte* at) {
  if (type == DataType::kFloat) {
    float value = 0;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  if (type == DataType::kDouble) {
    double value = 0;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  std::uint16_t bits16 = 0;
  std::memcpy(&bits16, at, sizeof(bits16));
  return type == DataType::kFloat16 ? float_from_float16(bits16) : float_from_bfloat16(bits16);
}

bool is_float(DataType type) {
  return type == DataType::kFloat || type == DataType::kDouble || type == DataType::kFloat16 ||
         type == DataType::kBfloat16;
}

bool contiguous(const StoredTensor& tensor) {
  std::int64_t stride = 1;
  for (std::size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != stride) {
      return false;
    }
    stride *= tensor.shape[i];
  }
  return true;
}

// A matrix turned in tiles that stay in the first cache; `rows` × `columns` is what is stored.
void turn(const float* in, std::size_t rows, std::size_t columns, float* out) {
  constexpr std::size_t kTile = 32;
  for (std::size_t r = 0; r < rows; r += kTile) {
    for (std::size_t c = 0; c < columns; c += kTile) {
      for (std::size_t j = c; j < std::min(c + kTile, columns); ++j) {
        for (std::size_t i = r; i < std::min(r + kTile, rows); ++i) {
          out[j * rows + i] = in[i * columns + j];
        }
      }
    }
  }
}

// Any strides and types, element by element; the first dimension and the rest change places where transposed.
void copy_elements(const StoredTensor& tensor, bool transposed, const std::byte* data, std::span<float> out) {
  const std::size_t rank = tensor.shape.size();
  const std::size_t width = byte_size(tensor.type, 1);
  const std::size_t rows = rank == 0 ? 1 : static_cast<std::size_t>(tensor.shape[0]);
  const std::size_t columns = rows == 0 ? 0 : out.size() / rows;
  std::vector<std::int64_t> at(rank, 0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      offset += at[d] * tensor.strides[d];
    }
    const std::size_t place = transposed ? (i % columns) * rows + i / columns : i;
    out[place] = static_cast<float>(as_double(tensor.type, data + static_cast<std::size_t>(offset) * width));
    for (std::size_t d = rank; d-- > 0 && ++at[d] == tensor.shape[d];) {
      at[d] = 0;
    }
  }
}

}  // namespace

Result<std::vector<std::string>> checkpoint_files(const std::string& folder) {
  TOUCHSTONE_ASSIGN(Found found, find_files(folder));
  if (!found.index.empty()) {
    found.files.insert(found.files.begin(), found.index);
  }
  return found.files;
}

Result<TensorIndex> read_checkpoint(const std::string& folder) {
  TOUCHSTONE_ASSIGN(const Found found, find_files(folder));
  TensorIndex all;
  for (const std::string& file : found.files) {
    TOUCHSTONE_ASSIGN(TensorIndex part, found.kind->read(file));
    for (auto& [name, tensor] : part) {
      if (!all.emplace(name, std::move(tensor)).second) {
        return fail(Reason::kInvalidModel, "{}: tensor '{}' stands in another shard too", file, name);
      }
    }
  }
  for (const auto& [name, file] : found.weight_map.items()) {
    const auto tensor = all.find(name);
    if (tensor == all.end() || fs::path(tensor->second.file).filename() != file.get<std::string>()) {
      return fail(Reason::kInvalidModel, "{}: tensor '{}' is said to lie in {}, and does not", found.index,
                  name, file.get<std::string>());
    }
  }
  return all;
}

Result<void> copy_as_float(const std::string& name, const StoredTensor& tensor, bool transposed,
                           std::span<float> out) {
  if (!is_float(tensor.type)) {
    return fail(Reason::kUnsupported,
                "{}: tensor '{}' is of type {}; weights are read as floats of 16, 32 or 64 bits", tensor.file,
                name, to_string(tensor.type));
  }
  if (element_count(tensor.shape) != out.size()) {
    return fail(Reason::kInternal, "tensor '{}' has {} elements, its place {}", name,
                element_count(tensor.shape), out.size());
  }
  return tensor.read([&](std::span<const std::byte> bytes) -> Result<void> {
    const bool plain = tensor.type == DataType::kFloat && contiguous(tensor) &&
                       reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) == 0;
    if (plain && !transposed) {
      std::memcpy(out.data(), bytes.data(), out.size_bytes());
    } else if (plain && tensor.shape[0] > 0) {
      const auto rows = static_cast<std::size_t>(tensor.shape[0]);
      turn(reinterpret_cast<const float*>(bytes.data()), rows, out.size() / rows, out.data());
    } else {
      copy_elements(tensor, transposed, bytes.data(), out);
    }
    return {};
  });
}

}  // namespace touchstone
