// SPDX-License-Identifier: Apache-2.0
#include "samples.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "convert_array.h"
#include "datasets/npz.h"
#include "graph/onnx/onnx_io.h"
#include "weight_file.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Sample {
  std::string name;
  std::string file;  // for messages
  std::vector<Array> inputs;
  std::string expected_file;
  std::vector<Array> expected;
};

// input_0.pb, input_1.pb, …: unnamed tensors stand for the model's by their place.
Result<std::vector<Array>> read_numbered(const fs::path& folder, const std::string& stem,
                                         const std::vector<std::string>& names) {
  std::vector<Array> arrays;
  std::error_code error;
  for (std::size_t i = 0;; ++i) {
    const fs::path path = folder / fmt::format("{}_{}.pb", stem, i);
    if (!fs::is_regular_file(path, error)) {
      return arrays;
    }
    TOUCHSTONE_ASSIGN(auto tensor, read_onnx_tensor(path.string()));
    auto& [name, constant] = tensor;
    const bool known = std::find(names.begin(), names.end(), name) != names.end();
    arrays.push_back({known || i >= names.size() ? name : names[i], constant.type, constant.shape,
                      std::move(*constant.owned)});
  }
}

Result<Sample> read_test_data(const fs::path& folder, const Bundle& bundle) {
  std::vector<std::string> inputs, outputs;
  for (const InputRule& input : bundle.inputs) {
    inputs.push_back(input.name);
  }
  for (const ValueInfo& output : bundle.outputs) {
    outputs.push_back(output.name);
  }
  Sample sample{folder.filename().string(), folder.string(), {}, folder.string(), {}};
  TOUCHSTONE_ASSIGN(sample.inputs, read_numbered(folder, "input", inputs));
  TOUCHSTONE_ASSIGN(sample.expected, read_numbered(folder, "output", outputs));
  return sample;
}

// A folder of test data, or one that holds several: test_data_set_0, test_data_set_1, …
Result<std::vector<Sample>> read_folder(const fs::path& folder, const Bundle& bundle) {
  std::vector<fs::path> places;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error) && fs::exists(entry.path() / "input_0.pb", error)) {
      places.push_back(entry.path());
    }
  }
  std::sort(places.begin(), places.end());
  if (fs::exists(folder / "input_0.pb", error)) {
    places = {folder};
  }
  if (places.empty()) {
    return fail(Reason::kInvalidInput,
                "{}: holds no input_0.pb and no folder that does: it is no test data of ONNX",
                folder.string());
  }
  std::vector<Sample> samples;
  for (const fs::path& place : places) {
    TOUCHSTONE_ASSIGN(Sample sample, read_test_data(place, bundle));
    samples.push_back(std::move(sample));
  }
  return samples;
}

Result<std::vector<Sample>> read_samples(const SamplesRequest& request, const Bundle& bundle) {
  std::error_code error;
  if (fs::is_directory(request.inputs, error)) {
    if (!request.expected.empty()) {
      return fail(Reason::kUsage,
                  "--expected goes with one file of inputs; test data brings its own outputs");
    }
    return read_folder(request.inputs, bundle);
  }
  Sample sample{fs::path(request.inputs).filename().string(), request.inputs, {}, request.expected, {}};
  TOUCHSTONE_ASSIGN(sample.inputs, read_arrays(request.inputs));
  if (!request.expected.empty()) {
    TOUCHSTONE_ASSIGN(sample.expected, read_arrays(request.expected));
    if (sample.expected.empty()) {
      return fail(Reason::kInvalidInput, "{}: holds no arrays", request.expected);
    }
  }
  if (sample.inputs.empty()) {
    return fail(Reason::kInvalidInput, "{}: holds no arrays", request.inputs);
  }
  std::vector<Sample> samples;
  samples.push_back(std::move(sample));
  return samples;
}

// The arrays in the order of `names`; none where a name has no array. A single unnamed array is that of a
// single name.
Result<std::vector<std::optional<Array>>> by_name(std::vector<Array> arrays, const std::string& file,
                                                  const std::vector<std::string>& names,
                                                  std::string_view what) {
  std::vector<std::optional<Array>> ordered(names.size());
  for (Array& array : arrays) {
    if (array.name.empty() && arrays.size() == 1 && names.size() == 1) {
      array.name = names.front();
    }
    const auto place = std::find(names.begin(), names.end(), array.name);
    if (place == names.end()) {
      return fail(Reason::kInvalidInput, "{}: array '{}' is no {} of the model{}; it has: {}", file,
                  array.name, what, did_you_mean(array.name, names), fmt::join(names, ", "));
    }
    const auto index = static_cast<std::size_t>(place - names.begin());
    ordered[index] = std::move(array);
  }
  return ordered;
}

std::string shape_text(const std::vector<Dimension>& shape) {
  std::vector<std::string> parts;
  for (const Dimension& dimension : shape) {
    parts.push_back(dimension.value ? std::to_string(*dimension.value) : dimension.symbol);
  }
  return fmt::format("[{}]", fmt::join(parts, ","));
}

// What the shapes of one set of inputs say of the model's dimensions.
struct Binding {
  std::map<std::string, std::int64_t> dimensions;
  std::map<std::string, std::string> named_by;  // dimension -> the input that gave its value
};

Result<void> bind_dimensions(const InputRule& rule, const Array& array, const std::string& file,
                             Binding& binding) {
  const auto wrong = [&](const std::string& more) {
    return fail(Reason::kInvalidInput, "{}: array '{}' has the shape [{}]; the model takes {}{}", file,
                array.name, fmt::join(array.shape, ","), shape_text(rule.shape), more);
  };
  if (array.shape.size() != rule.shape.size()) {
    return wrong("");
  }
  for (std::size_t i = 0; i < rule.shape.size(); ++i) {
    const std::int64_t found = array.shape[i];
    const Dimension& dimension = rule.shape[i];
    if (dimension.value) {
      const bool several = i == 0 && rule.shape.size() > 1 && *dimension.value > 0 && found > 0 &&
                           found % *dimension.value == 0;
      if (found != *dimension.value && !several) {
        return wrong("");
      }
      continue;
    }
    if (found < 1) {
      return wrong(", and none of its dimensions may be empty");
    }
    const auto [known, fresh] = binding.dimensions.emplace(dimension.symbol, found);
    if (!fresh && known->second != found) {
      return wrong(fmt::format(", where '{}' is {} by '{}'", dimension.symbol, known->second,
                               binding.named_by[dimension.symbol]));
    }
    if (fresh) {
      binding.named_by[dimension.symbol] = array.name;
    }
  }
  return {};
}

// How many rows a set has that can be taken apart; 0 where it is whole.
Result<std::int64_t> rows_of(const Bundle& bundle, const std::vector<std::optional<Array>>& inputs,
                             const std::string& file) {
  std::optional<std::int64_t> rows;
  bool fixed = true;     // every input's number of rows is a number
  bool several = false;  // and the data has more
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& shape = bundle.inputs[i].shape;
    if (!inputs[i]) {
      fixed = false;
      continue;
    }
    if (shape.empty() || !shape.front().value) {
      fixed = false;
      continue;
    }
    const std::int64_t found = inputs[i]->shape.front();
    const bool more = found != *shape.front().value;
    if (more && rows.value_or(found) != found) {
      return fail(Reason::kInvalidInput, "{}: '{}' has {} rows, others {}", file, inputs[i]->name, found,
                  *rows);
    }
    several = several || more;
    rows = more ? found : rows;
  }
  if (several && !fixed) {
    return fail(Reason::kInvalidInput,
                "{}: has {} rows where the model takes a fixed number; only a model all of whose inputs have "
                "rows can be given several samples",
                file, *rows);
  }
  if (several) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i]->shape.front() != *rows) {
        return fail(Reason::kInvalidInput, "{}: '{}' has {} rows, others {}", file, inputs[i]->name,
                    inputs[i]->shape.front(), *rows);
      }
    }
    return *rows;
  }
  if (!bundle.row_independent) {
    return 0;
  }
  for (const auto& input : inputs) {
    if (input) {
      return input->shape.front();
    }
  }
  return 0;
}

// Collects the data, then writes it.
class DataFile {
 public:
  json add(Array array) {
    json place = {{"name", array.name},
                  {"type", to_string(array.type)},
                  {"shape", array.shape},
                  {"offset", total_},
                  {"size", array.bytes.size()}};
    hash_.update(place.dump());
    hash_.update(std::span<const std::byte>(array.bytes));
    total_ = aligned(total_ + array.bytes.size());
    arrays_.push_back(std::move(array));
    return place;
  }

  std::string hash() { return hash_.hex_digest(); }
  std::size_t size() const { return total_; }

  Result<void> write(const std::string& path) const {
    TOUCHSTONE_ASSIGN(const WeightFile file, WeightFile::create(path, total_));
    std::size_t offset = 0;
    for (const Array& array : arrays_) {
      const auto out = file.at(offset, array.bytes.size());
      std::copy(array.bytes.begin(), array.bytes.end(), out.begin());
      offset = aligned(offset + array.bytes.size());
    }
    return {};
  }

 private:
  Sha256 hash_;
  std::vector<Array> arrays_;
  std::size_t total_ = 0;
};

Result<json> lay_out(Sample sample, const Bundle& bundle, DataFile& data, std::set<std::string>& notes) {
  std::vector<std::string> inputs, outputs;
  for (const InputRule& input : bundle.inputs) {
    inputs.push_back(input.name);
  }
  for (const ValueInfo& output : bundle.outputs) {
    outputs.push_back(output.name);
  }
  TOUCHSTONE_ASSIGN(auto given, by_name(std::move(sample.inputs), sample.file, inputs, "input"));
  TOUCHSTONE_ASSIGN(auto expected,
                    by_name(std::move(sample.expected), sample.expected_file, outputs, "output"));
  Binding binding;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) {
      continue;
    }
    TOUCHSTONE_TRY(bind_dimensions(bundle.inputs[i], *given[i], sample.file, binding));
    bool rounded = false;
    const DataType from = given[i]->type;
    auto converted = convert_array(std::move(*given[i]), bundle.inputs[i].type, rounded);
    if (!converted) {
      return fail(converted.error().reason, "{}: {}", sample.file, converted.error().message);
    }
    given[i] = std::move(*converted);
    if (rounded) {
      notes.insert(fmt::format("{}: '{}' was rounded from {} to the model's {}", sample.file, inputs[i],
                               to_string(from), to_string(bundle.inputs[i].type)));
    }
  }
  TOUCHSTONE_ASSIGN(const std::int64_t rows, rows_of(bundle, given, sample.file));
  const auto places = [&](std::vector<std::optional<Array>>& arrays) {
    json list = json::array();
    for (auto& array : arrays) {
      list.push_back(array ? data.add(std::move(*array)) : json());
    }
    return list;
  };
  const bool judged =
      std::any_of(expected.begin(), expected.end(), [](const auto& e) { return e.has_value(); });
  return json{{"name", sample.name},
              {"dimensions", binding.dimensions},
              {"rows", rows},
              {"inputs", places(given)},
              {"expected", judged ? places(expected) : json::array()}};
}

}  // namespace

Result<json> make_samples(const SamplesRequest& request) {
  TOUCHSTONE_ASSIGN(const Bundle bundle, read_bundle(request.bundle));
  TOUCHSTONE_ASSIGN(auto samples, read_samples(request, bundle));
  DataFile data;
  std::set<std::string> notes;
  json sets = json::array();
  for (Sample& sample : samples) {
    TOUCHSTONE_ASSIGN(json set, lay_out(std::move(sample), bundle, data, notes));
    sets.push_back(std::move(set));
  }
  std::error_code error;
  fs::create_directories(fs::path(request.output).parent_path(), error);
  TOUCHSTONE_TRY(data.write(request.output));
  return json{{"hash", data.hash()}, {"size", data.size()}, {"notes", notes}, {"sets", std::move(sets)}};
}

}  // namespace touchstone
