// SPDX-License-Identifier: Apache-2.0
// Checkpoints that lie or lack something: the helper names field, tensor and file, and ends by itself.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>

#include "support/places.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A copy of a fixture that a test may spoil.
class Copy {
 public:
  explicit Copy(const std::string& name) {
    fs::copy(std::string(TOUCHSTONE_TEST_DATA) + "/checkpoints/" + name, path(), fs::copy_options::recursive);
  }
  std::string path() const { return folder_ / "model"; }
  std::string file(const std::string& name) const { return path() + "/" + name; }

  void edit_config(const std::function<void(json&)>& edit) const {
    json config = json::parse(read_text(file("config.json")));
    edit(config);
    write_text(file("config.json"), config.dump());
  }

  // Rewrites the header of model.safetensors; the data stay.
  void edit_header(const std::function<void(json&)>& edit) const {
    const std::string bytes = read_text(file("model.safetensors"));
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof(length));
    json header = json::parse(bytes.substr(8, length));
    edit(header);
    const std::string text = header.dump();
    const std::uint64_t now = text.size();
    std::string made(sizeof(now), '\0');
    std::memcpy(made.data(), &now, sizeof(now));
    write_text(file("model.safetensors"), made + text + bytes.substr(8 + length));
  }

  CommandResult prepare() const {
    return run_command({built_bin() + "/touchstone-model", "prepare", path(), "--home", folder_ / "home"}, {},
                       std::chrono::seconds(60));
  }

  // The error's message, in which all the words must stand.
  void refuses(const std::vector<std::string>& words) const {
    const CommandResult result = prepare();
    CAPTURE(result.out);
    REQUIRE(result.exit_code == 1);
    const auto message = json::parse(result.out).at("error").at("message").get<std::string>();
    for (const std::string& word : words) {
      CHECK_MESSAGE(message.find(word) != std::string::npos, word);
    }
  }

 private:
  TemporaryFolder folder_;
};

constexpr const char* kWeight = "encoder.layer.0.attention.self.query.weight";

}  // namespace

TEST_CASE("an_unknown_model_type_is_named_with_those_that_are_built") {
  const Copy copy("bert");
  copy.edit_config([](json& config) { config["model_type"] = "berd"; });
  copy.refuses({"berd", "config.json", "bert", "roberta"});
}

TEST_CASE("an_architecture_that_is_not_built_is_named") {
  const Copy copy("bert");
  copy.edit_config([](json& config) { config["architectures"] = {"BertForMultipleChoice"}; });
  copy.refuses({"BertForMultipleChoice"});
}

TEST_CASE("fields_of_the_configuration_are_checked") {
  for (const auto& [field, value] :
       std::vector<std::pair<std::string, json>>{{"hidden_size", -1},
                                                 {"hidden_size", "wide"},
                                                 {"hidden_size", 33},
                                                 {"num_hidden_layers", 1e300},
                                                 {"num_attention_heads", 0},
                                                 {"layer_norm_eps", "small"},
                                                 {"hidden_act", "relu"},
                                                 {"position_embedding_type", "relative_key"}}) {
    const Copy copy("bert");
    copy.edit_config([&, &f = field, &v = value](json& config) { config[f] = v; });
    copy.refuses({field == "hidden_size" && value == 33 ? "num_attention_heads" : field});
  }
}

TEST_CASE("a_missing_tensor_is_named") {
  const Copy copy("bert");
  copy.edit_header([](json& header) { header.erase(kWeight); });
  copy.refuses({kWeight});
}

TEST_CASE("a_surplus_tensor_is_named") {
  const Copy copy("bert");
  copy.edit_header([](json& header) { header["stranger.weight"] = header[kWeight]; });
  copy.refuses({"stranger.weight", "model.safetensors"});
}

TEST_CASE("a_misshapen_tensor_is_named_with_both_shapes") {
  const Copy copy("bert");
  copy.edit_header([](json& header) { header[kWeight]["shape"] = {16, 64}; });
  copy.refuses({kWeight, "model.safetensors", "[16, 64]", "[32, 32]"});
}

TEST_CASE("a_header_that_lies_about_offsets_is_refused") {
  for (const json& offsets : {json{0, 1ULL << 60}, json{100, 0}, json{-5, 10}, json{0, 4}, json::array()}) {
    const Copy copy("bert");
    copy.edit_header([&](json& header) { header[kWeight]["data_offsets"] = offsets; });
    copy.refuses({kWeight, "model.safetensors"});
  }
}

TEST_CASE("shapes_that_overflow_are_refused") {
  const Copy copy("bert");
  copy.edit_header([](json& header) { header[kWeight]["shape"] = {1LL << 62, 1LL << 62, 0}; });
  copy.refuses({kWeight});
}

TEST_CASE("truncated_files_are_refused") {
  for (const char* name : {"bert", "bert-pickle"}) {
    const std::string file = name == std::string("bert") ? "model.safetensors" : "pytorch_model.bin";
    for (const double kept : {0.0, 0.001, 0.5, 0.99}) {
      const Copy copy(name);
      const std::string bytes = read_text(copy.file(file));
      write_text(copy.file(file),
                 bytes.substr(0, static_cast<std::size_t>(kept * static_cast<double>(bytes.size()))));
      copy.refuses({file});
    }
  }
}

TEST_CASE("a_folder_without_weights_or_configuration_is_refused") {
  const Copy copy("bert");
  fs::remove(copy.file("model.safetensors"));
  copy.refuses({"model.safetensors", "pytorch_model.bin"});
  fs::remove(copy.file("config.json"));
  copy.refuses({"config.json"});
}

TEST_CASE("an_index_that_points_outside_or_to_the_wrong_shard_is_refused") {
  const std::string index = "model.safetensors.index.json";
  const auto edit = [&](const Copy& copy, const std::function<void(json&)>& change) {
    json parsed = json::parse(read_text(copy.file(index)));
    change(parsed.at("weight_map"));
    write_text(copy.file(index), parsed.dump());
  };
  const Copy outside("bert-masked-lm");
  edit(outside, [](json& map) { map.begin().value() = "../model.safetensors"; });
  outside.refuses({index, "../model.safetensors"});
  const Copy wrong("bert-masked-lm");
  edit(wrong, [](json& map) { map["stranger"] = map.begin().value(); });
  wrong.refuses({index, "stranger"});
}

TEST_CASE("spoilt_bytes_end_in_an_error_or_a_model_never_in_a_signal") {
  std::mt19937 random(11);
  for (const auto& [name, file] : std::vector<std::pair<std::string, std::string>>{
           {"bert", "model.safetensors"}, {"bert-pickle", "pytorch_model.bin"}, {"gpt2", "config.json"}}) {
    for (int i = 0; i < 25; ++i) {
      const Copy copy(name);
      std::string bytes = read_text(copy.file(file));
      // Where the structure lies: a safetensors header at the start, a zip's directory at the end.
      const std::size_t reach = std::min<std::size_t>(bytes.size(), 6000);
      for (int change = 0; change < 4; ++change) {
        const std::size_t at = random() % reach;
        bytes[i % 2 == 0 ? at : bytes.size() - 1 - at] = static_cast<char>(random());
      }
      write_text(copy.file(file), bytes);
      const CommandResult result = copy.prepare();
      CAPTURE(i);
      CAPTURE(result.out);
      CHECK(result.signal == 0);
      CHECK(!result.timed_out);
    }
  }
}

}  // namespace touchstone
