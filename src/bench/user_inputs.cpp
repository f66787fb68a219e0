// SPDX-License-Identifier: Apache-2.0
#include "bench/user_inputs.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "bench/helper_process.h"
#include "worker/protocol.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A view of each place in the file's bytes; none where the list says null.
Result<std::vector<std::optional<TensorView>>> views(const json& list, std::span<std::byte> bytes) {
  std::vector<std::optional<TensorView>> tensors;
  for (const json& entry : list) {
    tensors.emplace_back();
    if (entry.is_null()) {
      continue;
    }
    TOUCHSTONE_ASSIGN(const auto places, tensor_places_from_json(json::array({entry})));
    TOUCHSTONE_ASSIGN(const auto view, view_tensors(places, bytes));
    tensors.back() = view.front();
  }
  return tensors;
}

}  // namespace

Result<std::shared_ptr<const UserInputs>> UserInputs::read(const Installation& installation,
                                                           const Bundle& bundle, const std::string& inputs,
                                                           const std::string& expected) {
  const std::string file = fmt::format("{}/samples/{}.data", installation.home, getpid());
  TOUCHSTONE_ASSIGN(const json answer,
                    call_model_helper(installation, {"samples", bundle.folder, inputs, expected, file}));
  std::shared_ptr<UserInputs> read(new UserInputs);
  const auto taken = read->take(answer, file);
  std::error_code ignored;
  fs::remove(file, ignored);  // mapped: it lives as long as the map
  if (!taken) {
    return tl::unexpected(taken.error());
  }
  return read;
}

Result<void> UserInputs::take(const json& answer, const std::string& file) {
  try {
    hash_ = answer.at("hash").get<std::string>();
    notes_ = answer.at("notes").get<std::vector<std::string>>();
    Constant whole;
    whole.file = file;
    whole.size = answer.at("size").get<std::uint64_t>();
    TOUCHSTONE_ASSIGN(const auto mapped, data_.bytes(whole));
    // Views are of writable bytes by their type; nobody writes to inputs.
    const std::span<std::byte> bytes(const_cast<std::byte*>(mapped.data()), mapped.size());
    for (const json& entry : answer.at("sets")) {
      UserInputSet set;
      set.name = entry.at("name").get<std::string>();
      set.dimensions = entry.at("dimensions").get<DimensionValues>();
      set.rows = entry.at("rows").get<std::int64_t>();
      TOUCHSTONE_ASSIGN(set.inputs, views(entry.at("inputs"), bytes));
      TOUCHSTONE_ASSIGN(set.expected, views(entry.at("expected"), bytes));
      sets_.push_back(std::move(set));
    }
  } catch (const json::exception& error) {
    return fail(Reason::kInternal, "touchstone-model described the inputs wrongly: {}", error.what());
  }
  return {};
}

bool UserInputs::fills(std::size_t input) const {
  return std::any_of(sets_.begin(), sets_.end(), [&](const UserInputSet& set) { return set.inputs[input]; });
}

bool UserInputs::judged() const {
  return std::all_of(sets_.begin(), sets_.end(),
                     [](const UserInputSet& set) { return !set.expected.empty(); });
}

}  // namespace touchstone
