// SPDX-License-Identifier: Apache-2.0
#include "engines/catalogue.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "support/places.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

// One engine "fast" of two versions, with a worker; nothing installed yet.
struct Machine {
  TemporaryFolder folder;
  EnginePlaces places{folder / "home", folder / "bin"};

  Machine() {
    write_manifest(R"(name = "fast"
title = "Fast"
licence = "MIT"
modes = ["eager", "compiled"]
shape_modes = ["dynamic", "fixed"]
form = "fused"
reads = "graph"
devices = ["cpu", "cuda"]
default_version = "2.10.0"
library_path = ["lib", "more/lib"]
[environment]
OMP_NUM_THREADS = "{threads}"
[[versions]]
version = "2.10.0"
[[versions]]
version = "2.9.0"
)");
    write_text(places.bin + "/touchstone-worker-fast", "");
    fs::permissions(places.bin + "/touchstone-worker-fast", fs::perms::owner_all);
  }
  void write_manifest(const std::string& text) const {
    write_text(folder / "engines/fast/manifest.toml", text);
  }
  void install(const std::string& version) const {
    write_text(places.home + "/sdk/fast/" + version + "/sdk.json", "{}");
  }
  auto catalogue() const { return read_catalogue(folder / "engines"); }
  auto resolve(const std::string& name, const std::string& version = "", const std::string& mode = "",
               const std::string& device = "cpu") const {
    return resolve_engine(catalogue().value(), places, name, version, mode, device, 4);
  }
  // The error of a resolution that must fail.
  Error refusal(const std::string& name, const std::string& version = "", const std::string& mode = "",
                const std::string& device = "cpu") const {
    const auto engine = resolve(name, version, mode, device);
    REQUIRE(!engine.has_value());
    return engine.error();
  }
};

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the_repositorys_own_manifests_are_valid") {
  const auto catalogue = read_catalogue(source_folder() + "/engines");
  REQUIRE_MESSAGE(catalogue.has_value(), catalogue.error().message);
  CHECK(catalogue->size() >= 6);
}

TEST_CASE("an_installed_engine_resolves_to_its_worker_sdk_and_environment") {
  const Machine machine;
  machine.install("2.10.0");
  const auto engine = machine.resolve("fast", "", "compiled");
  REQUIRE(engine.has_value());
  const std::string sdk = machine.places.home + "/sdk/fast/2.10.0";
  CHECK(engine->version == "2.10.0");
  CHECK(engine->mode == "compiled");
  CHECK(engine->command ==
        std::vector<std::string>{machine.places.bin + "/touchstone-worker-fast", "--sdk", sdk});
  CHECK(engine->environment.at("LD_LIBRARY_PATH") == sdk + "/lib:" + sdk + "/more/lib");
  CHECK(engine->environment.at("OMP_NUM_THREADS") == "4");
}

TEST_CASE("without_a_mode_the_first_is_taken") {
  const Machine machine;
  machine.install("2.10.0");
  CHECK(machine.resolve("fast")->mode == "eager");
}

TEST_CASE("without_a_version_the_default_or_else_the_newest_installed_is_taken") {
  const Machine machine;
  machine.install("2.8.0");
  machine.install("2.9.0");
  CHECK(machine.resolve("fast")->version == "2.9.0");
  machine.install("2.11.0");
  CHECK(machine.resolve("fast")->version == "2.11.0");
  machine.install("2.10.0");
  CHECK(machine.resolve("fast")->version == "2.10.0");
}

TEST_CASE("versions_are_listed_with_the_newest_last_by_number") {
  const Machine machine;
  machine.install("2.10.0");
  machine.install("2.9.0");
  CHECK(installed_versions(machine.catalogue()->front(), machine.places) ==
        std::vector<std::string>{"2.9.0", "2.10.0"});
}

TEST_CASE("a_version_finds_its_build_of_another_variant") {
  const Machine machine;
  machine.install("2.10.0+cpu");
  CHECK(machine.resolve("fast", "2.10.0")->version == "2.10.0+cpu");
}

TEST_CASE("an_installed_version_that_no_manifest_knows_can_be_used") {
  const Machine machine;
  machine.install("3.0.0");
  CHECK(machine.resolve("fast", "3.0.0")->version == "3.0.0");
}

TEST_CASE("another_device_has_an_sdk_of_its_own") {
  const Machine machine;
  machine.install("2.10.0-cuda");
  CHECK(machine.refusal("fast").reason == Reason::kEngineMissing);
  const auto engine = machine.resolve("fast", "", "", "cuda:1");
  REQUIRE(engine.has_value());
  CHECK(engine->sdk == machine.places.home + "/sdk/fast/2.10.0-cuda");
}

TEST_CASE("a_device_that_the_engine_does_not_know_is_device_missing") {
  const Machine machine;
  machine.install("2.10.0");
  const Error error = machine.refusal("fast", "", "", "npu:0");
  CHECK(error.reason == Reason::kDeviceMissing);
  CHECK(holds(error.message, "npu:0"));
}

TEST_CASE("an_engine_that_is_not_installed_says_how_to_get_it") {
  const Machine machine;
  const Error error = machine.refusal("fast", "2.9.0");
  CHECK(error.reason == Reason::kEngineMissing);
  CHECK_MESSAGE(holds(error.message, "`touchstone engines install fast==2.9.0`"), error.message);
}

TEST_CASE("a_partial_sdk_is_told_apart_from_a_missing_one") {
  const Machine machine;
  fs::create_directories(machine.places.home + "/sdk/fast/2.10.0/lib");
  const Error error = machine.refusal("fast");
  CHECK(error.reason == Reason::kEngineMissing);
  CHECK_MESSAGE(holds(error.message, "in part only"), error.message);
}

TEST_CASE("a_worker_that_is_not_built_is_named") {
  const Machine machine;
  machine.install("2.10.0");
  fs::remove(machine.places.bin + "/touchstone-worker-fast");
  const Error error = machine.refusal("fast");
  CHECK(error.reason == Reason::kEngineMissing);
  CHECK_MESSAGE(holds(error.message, "touchstone-worker-fast"), error.message);
}

TEST_CASE("unknown_names_are_usage_errors_with_the_nearest_known") {
  const Machine machine;
  machine.install("2.10.0");
  CHECK(machine.refusal("fats").reason == Reason::kUsage);
  CHECK(holds(machine.refusal("fats").message, "did you mean 'fast'?"));
  CHECK(machine.refusal("fast", "", "eagre").reason == Reason::kUsage);
  CHECK(holds(machine.refusal("fast", "", "eagre").message, "did you mean 'eager'?"));
  CHECK(machine.refusal("fast", "1.0").reason == Reason::kUsage);
  CHECK(holds(machine.refusal("fast", "1.0").message, "known: 2.10.0, 2.9.0"));
}

TEST_CASE("a_manifest_with_a_mistake_names_the_file_and_the_key") {
  const Machine machine;
  const auto refusal = [&](const std::string& text) {
    machine.write_manifest(text);
    const auto catalogue = machine.catalogue();
    REQUIRE(!catalogue.has_value());
    CHECK(holds(catalogue.error().message, "fast/manifest.toml"));
    return catalogue.error().message;
  };
  const std::string whole =
      "name = \"fast\"\nmodes = [\"default\"]\nshape_modes = [\"dynamic\"]\ndevices = [\"cpu\"]\n";
  CHECK(holds(refusal("name = fast\n"), ":1"));
  CHECK(holds(refusal("name = \"slow\"\n"), "name"));
  CHECK(holds(refusal("name = \"fast\"\n"), "modes"));
  CHECK(holds(refusal(whole + "form = \"best\"\n"), "form"));
  CHECK(holds(refusal(whole + "reads = \"yaml\"\n"), "reads"));
  CHECK(
      holds(refusal(whole + "default_version = \"1\"\n[[versions]]\nversion = \"2\"\n"), "default_version"));
}

}  // namespace touchstone
