// SPDX-License-Identifier: Apache-2.0
// A user's .onnx files, whole and broken. The whole one is bert-tiny's own, with its weights beside it.
#include <doctest/doctest.h>

#include <filesystem>

#include "end_to_end/driver.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

// A folder with model.onnx and the weights that it refers to.
struct UserModel {
  TemporaryFolder folder;
  std::string path = folder / "model.onnx";

  UserModel() {
    REQUIRE(shared_installation()
                .touchstone({"verify", "bert-tiny", "--engines", "synthetic", "--batch", "1", "--seq", "8"})
                .exit_code == 0);
    for (const auto& entry : fs::directory_iterator(shared_installation().home() + "/bundles")) {
      if (holds(entry.path().filename().string(), "bert-tiny")) {
        fs::copy_file(entry.path() / "model-source.onnx", path);
        fs::copy_file(entry.path() / "weights.bin", folder / "weights.bin");
        return;
      }
    }
    FAIL("there is no bundle of bert-tiny");
  }
};

CommandResult verify(const std::string& model,
                     const std::vector<std::string>& more = {"--batch", "1", "--seq", "8"}) {
  std::vector<std::string> arguments = {"verify", model, "--engines", "synthetic"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return shared_installation().touchstone(arguments);
}

// Refused with a message that names the file, and no crash of the driver.
void refused(const CommandResult& result, const std::string& path, const std::string& part = "") {
  CHECK((result.exit_code == 1 || result.exit_code == 2));
  CHECK_MESSAGE(holds(result.err, path), result.err);
  CHECK_MESSAGE(holds(result.err, part), result.err);
}

void replace_all(const std::string& path, const std::string& from, const std::string& to) {
  std::string text = read_text(path);
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  write_text(path, text);
}

}  // namespace

TEST_CASE("a_users_file_is_proven_like_a_model_of_the_zoo") {
  const UserModel model;
  const CommandResult result = verify(model.path);
  CHECK_MESSAGE(result.exit_code == 0, result.err);
  CHECK_MESSAGE(holds(result.out, "equal"), result.out);
}

TEST_CASE("a_missing_file_is_named") {
  refused(verify("/no/such/model.onnx"), "/no/such/model.onnx");
}

TEST_CASE("an_empty_file_is_refused") {
  const UserModel model;
  write_text(model.path, "");
  refused(verify(model.path), model.path, "empty");
}

TEST_CASE("a_file_that_is_not_onnx_is_refused") {
  const UserModel model;
  write_text(model.path, "this is a text, not a model\n");
  refused(verify(model.path), model.path);
}

TEST_CASE("a_truncated_file_is_refused") {
  const UserModel model;
  const std::string whole = read_text(model.path);
  for (const std::size_t size : {whole.size() / 2, whole.size() - 3}) {
    write_text(model.path, whole.substr(0, size));
    refused(verify(model.path), model.path);
  }
}

TEST_CASE("external_data_that_is_missing_is_named") {
  const UserModel model;
  fs::remove(model.folder / "weights.bin");
  refused(verify(model.path), "weights.bin");
}

TEST_CASE("external_data_that_is_too_short_is_refused") {
  const UserModel model;
  fs::resize_file(model.folder / "weights.bin", 1000);
  refused(verify(model.path), "weights.bin");
}

TEST_CASE("external_data_outside_the_models_folder_is_refused") {
  const UserModel model;
  replace_all(model.path, "weights.bin", "../weights1");
  fs::copy_file(model.folder / "weights.bin", model.folder.path() + "/../weights1",
                fs::copy_options::overwrite_existing);
  refused(verify(model.path), "../weights1");
  fs::remove(model.folder.path() + "/../weights1");
}

TEST_CASE("an_operator_that_does_not_exist_is_named") {
  const UserModel model;
  replace_all(model.path, "Softmax", "Softmay");
  refused(verify(model.path), "Softmay");
}

TEST_CASE("dimensions_without_values_are_listed_with_the_flags_to_add") {
  const UserModel model;
  const CommandResult none = verify(model.path, {});
  CHECK(none.exit_code == 2);
  CHECK_MESSAGE(holds(none.err, "--dims batch="), none.err);
  CHECK_MESSAGE(holds(none.err, "--dims seq="), none.err);
  const CommandResult one = verify(model.path, {"--dims", "batch=2"});
  CHECK(one.exit_code == 2);
  CHECK_MESSAGE(!holds(one.err, "--dims batch="), one.err);
}

TEST_CASE("a_dimension_that_the_model_does_not_have_names_the_nearest") {
  const UserModel model;
  const CommandResult result = verify(model.path, {"--dims", "bacth=2", "--dims", "seq=8"});
  CHECK(result.exit_code == 2);
  CHECK_MESSAGE(holds(result.err, "did you mean 'batch'?"), result.err);
}

TEST_CASE("dimensions_of_zero_or_less_are_refused") {
  for (const char* value : {"batch=0", "batch=-1", "batch=x", "batch="}) {
    const CommandResult result = verify("bert-tiny", {"--dims", value, "--seq", "8"});
    CHECK(result.exit_code == 2);
    CHECK_MESSAGE(holds(result.err, "batch"), result.err);
  }
}

}  // namespace touchstone
