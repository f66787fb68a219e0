// SPDX-License-Identifier: Apache-2.0
#include "support/places.h"

#include <cstdlib>
#include <filesystem>

namespace touchstone {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScriptManifest = R"(title = "A script"
licence = "none"
modes = ["default"]
shape_modes = ["dynamic", "fixed"]
form = "source"
reads = "onnx"
devices = ["cpu"]
default_version = "builtin"
)";

// The drivers find their installation by where they lie, so they are copied; workers do not care.
void fill_bin(const std::string& bin) {
  fs::create_directories(bin);
  for (const auto& entry : fs::directory_iterator(built_bin())) {
    const std::string name = entry.path().filename().string();
    if (name == "touchstone" || name == "touchstone-model") {
      fs::copy_file(entry.path(), bin + "/" + name);
    } else if (name.starts_with("touchstone-worker-")) {
      fs::create_symlink(entry.path(), bin + "/" + name);
    }
  }
}

}  // namespace

std::string built_bin() {
  return TOUCHSTONE_BIN_DIR;
}

std::string real_home() {
  const char* home = std::getenv("TOUCHSTONE_HOME");
  return home != nullptr && *home != '\0' ? home : TOUCHSTONE_REAL_HOME;
}

std::string source_folder() {
  return TOUCHSTONE_SOURCE_DIR;
}

PrivateInstallation::PrivateInstallation() {
  fill_bin(bin());
  fs::create_directories(home());
  fs::create_directories(work());
  fs::create_directories(manifests());
  for (const auto& entry : fs::directory_iterator(source_folder() + "/engines")) {
    const fs::path manifest = entry.path() / "manifest.toml";
    if (fs::exists(manifest)) {
      const fs::path folder = fs::path(manifests()) / entry.path().filename();
      fs::create_directories(folder);
      fs::copy_file(manifest, folder / "manifest.toml");
    }
  }
  if (fs::exists(real_home() + "/sdk")) {
    fs::create_directory_symlink(real_home() + "/sdk", home() + "/sdk");
  }
}

void PrivateInstallation::add_script_engine(const std::string& name, const std::string& script) const {
  write_text(manifests() + "/" + name + "/manifest.toml", "name = \"" + name + "\"\n" + kScriptManifest);
  const std::string worker = bin() + "/touchstone-worker-" + name;
  write_text(worker, "#!/bin/sh\n" + script + "\n");
  fs::permissions(worker, fs::perms::owner_all);
}

std::vector<std::string> PrivateInstallation::command(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), bin() + "/touchstone");
  return arguments;
}

CommandSetting PrivateInstallation::setting() const {
  return {work(), {{"TOUCHSTONE_HOME", home()}, {"NO_COLOR", "1"}}};
}

CommandResult PrivateInstallation::touchstone(std::vector<std::string> arguments) const {
  return run_command(command(std::move(arguments)), setting());
}

}  // namespace touchstone
