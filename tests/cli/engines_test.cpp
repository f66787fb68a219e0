// SPDX-License-Identifier: Apache-2.0
// `touchstone engines` on installations that are whole, partial and broken.
#include <doctest/doctest.h>

#include <filesystem>

#include "support/places.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// An installation without any SDK.
struct Bare : PrivateInstallation {
  Bare() { fs::remove(home() + "/sdk"); }
};

}  // namespace

TEST_CASE("engines_lists_what_is_known_and_how_to_install_it") {
  const Bare bare;
  const CommandResult result = bare.touchstone({"engines"});
  CHECK(result.exit_code == 0);
  for (const char* part : {"onnxruntime", "openvino", "pytorch:torchscript", "installed: none",
                           "`touchstone engines install openvino=="}) {
    CHECK_MESSAGE(holds(result.out, part), result.out);
  }
}

TEST_CASE("engines_for_testing_the_bench_are_not_offered") {
  const Bare bare;
  const CommandResult result = bare.touchstone({"engines"});
  CHECK(!holds(result.out, "synthetic"));
}

TEST_CASE("engines_json_is_an_array_for_scripts") {
  const Bare bare;
  const CommandResult result = bare.touchstone({"engines", "--json"});
  CHECK(result.exit_code == 0);
  CHECK(result.out.starts_with("["));
  CHECK(holds(result.out, "\"usable\": false"));
}

TEST_CASE("a_partial_sdk_is_not_taken_for_a_whole_one") {
  const Bare bare;
  fs::create_directories(bare.home() + "/sdk/openvino/2026.4.1/openvino");
  const CommandResult result = bare.touchstone({"engines"});
  CHECK_MESSAGE(holds(result.out, "in part only"), result.out);
  CHECK_MESSAGE(holds(result.out, "repairs it"), result.out);
}

TEST_CASE("install_refuses_unknown_names_and_versions_with_the_nearest") {
  const Bare bare;
  const CommandResult engine = bare.touchstone({"engines", "install", "openvno"});
  CHECK(engine.exit_code == 2);
  CHECK_MESSAGE(holds(engine.err, "did you mean 'openvino'?"), engine.err);
  const CommandResult version = bare.touchstone({"engines", "install", "openvino==1"});
  CHECK(version.exit_code == 2);
  CHECK_MESSAGE(holds(version.err, "known: "), version.err);
  const CommandResult built_in = bare.touchstone({"engines", "install", "synthetic"});
  CHECK(built_in.exit_code == 2);
  CHECK_MESSAGE(holds(built_in.err, "nothing to install"), built_in.err);
}

TEST_CASE("install_hands_the_name_and_the_home_to_the_tool_and_its_failure_back") {
  const Bare bare;
  const std::string tool = bare.manifests() + "/../tools/fetch-sdk";
  write_text(tool, "import sys\nprint(' '.join(sys.argv[1:]))\nsys.exit(1)\n");
  const CommandResult result = bare.touchstone({"engines", "install", "openvino"});
  CHECK(result.exit_code == 1);
  CHECK_MESSAGE(holds(result.out, "openvino --root " + bare.home()), result.out);
  CHECK_MESSAGE(holds(result.err, "openvino was not installed"), result.err);
}

TEST_CASE("home_on_the_command_line_wins_over_the_environment") {
  const Bare bare;
  fs::create_directories(bare.work() + "/other/sdk/openvino/2026.4.1");
  write_text(bare.work() + "/other/sdk/openvino/2026.4.1/sdk.json", "{}");
  const CommandResult result = bare.touchstone({"engines", "--home", bare.work() + "/other"});
  CHECK_MESSAGE(holds(result.out, "installed: 2026.4.1"), result.out);
}

TEST_CASE("no_manifests_at_all_is_told") {
  const Bare bare;
  fs::remove_all(bare.manifests());
  fs::create_directories(bare.manifests());
  const CommandResult result = bare.touchstone({"engines"});
  CHECK(result.exit_code == 1);
  CHECK_MESSAGE(holds(result.err, "no engine manifests"), result.err);
}

}  // namespace touchstone
