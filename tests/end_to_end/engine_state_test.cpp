// SPDX-License-Identifier: Apache-2.0
// Engines that are not installed, or installed and broken: cells that are not available, with what to do.
#include <doctest/doctest.h>

#include <filesystem>

#include "end_to_end/driver.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

// Runs the engine beside the synthetic one; the engine's cell.
CellRecord cell_beside_synthetic(const PrivateInstallation& place, const std::string& engine,
                                 const std::vector<std::string>& more = {}) {
  const CommandResult run = place.touchstone(tiny_run("synthetic," + engine, "1", "r.db", more));
  CHECK_MESSAGE(run.exit_code == 0, run.err);
  const RunData data = results_at(place.work() + "/r.db");
  CHECK(cell_of(data, "synthetic").median_ns.value_or(0) > 0);
  return cell_of(data, engine);
}

}  // namespace

TEST_CASE("an_engine_that_is_not_installed_is_engine_missing_with_the_command_to_install_it") {
  const PrivateInstallation place;
  fs::remove(place.home() + "/sdk");
  const CellRecord cell = cell_beside_synthetic(place, "openvino");
  CHECK(cell.reason == "engine-missing");
  CHECK_MESSAGE(holds(cell.message, "touchstone engines install openvino=="), cell.message);
}

#ifdef HAVE_onnxruntime
TEST_CASE("an_engine_whose_library_is_broken_is_engine_missing") {
  const PrivateInstallation place;
  fs::remove(place.home() + "/sdk");
  const std::string sdk = place.home() + "/sdk/onnxruntime/1.32.0";
  write_text(sdk + "/sdk.json", "{}");
  write_text(sdk + "/onnxruntime/capi/libonnxruntime.so.1.32.0", "not a library");
  const CellRecord cell = cell_beside_synthetic(place, "onnxruntime");
  CHECK_MESSAGE(cell.reason == "engine-missing", cell.message);
}

TEST_CASE("an_engine_whose_library_is_gone_is_engine_missing") {
  const PrivateInstallation place;
  fs::remove(place.home() + "/sdk");
  write_text(place.home() + "/sdk/onnxruntime/1.32.0/sdk.json", "{}");
  const CellRecord cell = cell_beside_synthetic(place, "onnxruntime");
  CHECK_MESSAGE(cell.reason == "engine-missing", cell.message);
}
#endif

TEST_CASE("a_worker_that_ends_at_once_is_crashed_and_its_words_are_shown") {
  const PrivateInstallation place;
  place.add_script_engine("broken", "echo cannot find my hat >&2; exit 3");
  const CellRecord cell = cell_beside_synthetic(place, "broken");
  CHECK(cell.reason == "crashed");
  CHECK_MESSAGE(holds(cell.message, "cannot find my hat"), cell.message);
}

TEST_CASE("a_worker_that_greets_with_garbage_is_protocol") {
  const PrivateInstallation place;
  place.add_script_engine("noisy", "echo hello there >&3; exec sleep 60");
  const CellRecord cell = cell_beside_synthetic(place, "noisy");
  CHECK_MESSAGE(cell.reason == "protocol", cell.message);
}

TEST_CASE("a_worker_that_never_greets_is_timed_out") {
  const PrivateInstallation place;
  place.add_script_engine("silent", "exec sleep 600");
  const CellRecord cell = cell_beside_synthetic(place, "silent", {"--timeout", "2s"});
  CHECK_MESSAGE(cell.reason == "timed-out", cell.message);
  CHECK(processes_with("sleep 600").empty());
}

TEST_CASE("a_new_engine_is_a_manifest_and_an_executable_and_nothing_else") {
  const PrivateInstallation place;
  place.add_script_engine("mine", "exit 1");
  const CommandResult result = place.touchstone({"engines"});
  CHECK_MESSAGE(holds(result.out, "mine"), result.out);
}

}  // namespace touchstone
