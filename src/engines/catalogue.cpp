// SPDX-License-Identifier: Apache-2.0
#include "engines/catalogue.h"

#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> texts(const toml::table& table, std::string_view key) {
  std::vector<std::string> list;
  if (const toml::array* array = table[key].as_array()) {
    for (const toml::node& node : *array) {
      list.push_back(node.value_or(std::string()));
    }
  }
  return list;
}

Result<EngineManifest> read_manifest(const fs::path& path) {
  toml::table table;
  try {
    table = toml::parse_file(path.string());
  } catch (const toml::parse_error& error) {
    return fail(Reason::kUsage, "{}:{}: {}", path.string(), error.source().begin.line, error.description());
  }
  EngineManifest manifest;
  manifest.name = table["name"].value_or(std::string());
  manifest.title = table["title"].value_or(manifest.name);
  manifest.licence = table["licence"].value_or(std::string());
  manifest.modes = texts(table, "modes");
  manifest.shape_modes = texts(table, "shape_modes");
  manifest.devices = texts(table, "devices");
  manifest.form = table["form"].value_or(std::string("source"));
  manifest.reads = table["reads"].value_or(std::string("graph"));
  manifest.default_version = table["default_version"].value_or(std::string());
  manifest.library_path = texts(table, "library_path");
  manifest.hidden = table["hidden"].value_or(false);
  if (const toml::table* environment = table["environment"].as_table()) {
    for (const auto& [key, value] : *environment) {
      manifest.environment[std::string(key.str())] = value.value_or(std::string());
    }
  }
  if (const toml::array* versions = table["versions"].as_array()) {
    for (const toml::node& version : *versions) {
      if (const toml::table* entry = version.as_table()) {
        manifest.versions.push_back((*entry)["version"].value_or(std::string()));
      }
    }
  }
  if (manifest.name.empty() || manifest.modes.empty() || manifest.shape_modes.empty()) {
    return fail(Reason::kUsage, "{}: name, modes and shape_modes are required", path.string());
  }
  return manifest;
}

std::string join(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

template <class Get>
std::vector<std::string> names_of(const std::vector<EngineManifest>& catalogue, Get get) {
  std::vector<std::string> names;
  for (const EngineManifest& manifest : catalogue) {
    if (get(manifest)) {
      names.push_back(manifest.name);
    }
  }
  return names;
}

std::string sdk_folder(const EnginePlaces& places, const std::string& name, const std::string& version) {
  return fmt::format("{}/sdk/{}/{}", places.home, name, version);
}

std::string replace_threads(std::string text, int threads) {
  constexpr std::string_view kMark = "{threads}";
  if (const std::size_t at = text.find(kMark); at != std::string::npos) {
    text.replace(at, kMark.size(), std::to_string(threads));
  }
  return text;
}

// The version to use, and that its SDK is there.
Result<std::string> choose_version(const EngineManifest& manifest, const EnginePlaces& places,
                                   const std::string& asked) {
  if (manifest.versions.empty()) {
    return manifest.default_version;
  }
  const auto installed = installed_versions(manifest, places);
  const std::string wanted = asked.empty() ? manifest.default_version : asked;
  if (std::find(installed.begin(), installed.end(), wanted) != installed.end()) {
    return wanted;
  }
  if (asked.empty() && !installed.empty()) {
    return installed.back();
  }
  const bool known =
      std::find(manifest.versions.begin(), manifest.versions.end(), wanted) != manifest.versions.end();
  if (!known) {
    return fail(Reason::kEngineMissing, "{} {} is not known here; known: {}{}{}", manifest.name, wanted,
                join(manifest.versions), installed.empty() ? "" : "; installed: ", join(installed));
  }
  return fail(Reason::kEngineMissing, "{} {} is not installed; `touchstone engines install {}=={}` does it",
              manifest.name, wanted, manifest.name, wanted);
}

}  // namespace

Result<std::vector<EngineManifest>> read_catalogue(const std::string& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (fs::exists(entry.path() / "manifest.toml")) {
      paths.push_back(entry.path() / "manifest.toml");
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<EngineManifest> catalogue;
  for (const fs::path& path : paths) {
    TOUCHSTONE_ASSIGN(EngineManifest manifest, read_manifest(path));
    catalogue.push_back(std::move(manifest));
  }
  if (catalogue.empty()) {
    return fail(Reason::kEngineMissing, "{}: no engine manifests there; is Touchstone installed whole?",
                folder);
  }
  return catalogue;
}

std::vector<std::string> installed_versions(const EngineManifest& manifest, const EnginePlaces& places) {
  std::vector<std::string> versions;
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(fmt::format("{}/sdk/{}", places.home, manifest.name), error)) {
    if (fs::exists(entry.path() / "sdk.json", error)) {
      versions.push_back(entry.path().filename().string());
    }
  }
  std::sort(versions.begin(), versions.end());
  return versions;
}

Result<ResolvedEngine> resolve_engine(const std::vector<EngineManifest>& catalogue,
                                      const EnginePlaces& places, const std::string& name,
                                      const std::string& version, const std::string& mode,
                                      const std::string& device, int threads) {
  const auto found = std::find_if(catalogue.begin(), catalogue.end(),
                                  [&](const EngineManifest& m) { return m.name == name; });
  if (found == catalogue.end()) {
    const auto all = names_of(catalogue, [](const EngineManifest&) { return true; });
    return fail(Reason::kUsage, "there is no engine '{}'{}; known: {}", name, did_you_mean(name, all),
                join(names_of(catalogue, [](const EngineManifest& m) { return !m.hidden; })));
  }
  ResolvedEngine engine;
  engine.manifest = *found;
  engine.mode = mode.empty() ? found->modes.front() : mode;
  if (std::find(found->modes.begin(), found->modes.end(), engine.mode) == found->modes.end()) {
    return fail(Reason::kUsage, "{} has no mode '{}'{}; known: {}", name, mode,
                did_you_mean(mode, found->modes), join(found->modes));
  }
  const std::string kind = device.substr(0, device.find(':'));
  if (std::find(found->devices.begin(), found->devices.end(), kind) == found->devices.end()) {
    return fail(Reason::kDeviceMissing, "{} has no worker for device {} in this release; it runs on {}", name,
                device, join(found->devices));
  }
  TOUCHSTONE_ASSIGN(engine.version, choose_version(*found, places, version));
  const std::string worker = places.bin + "/touchstone-worker-" + name;
  if (access(worker.c_str(), X_OK) != 0) {
    return fail(Reason::kEngineMissing,
                "{}: its worker {} is not built; tools/setup builds it once the SDK is there", name, worker);
  }
  engine.command = {worker};
  if (!found->versions.empty()) {
    engine.sdk = sdk_folder(places, name, engine.version);
    engine.command.insert(engine.command.end(), {"--sdk", engine.sdk});
    std::vector<std::string> folders;
    for (const std::string& folder : found->library_path) {
      folders.push_back(engine.sdk + "/" + folder);
    }
    engine.environment["LD_LIBRARY_PATH"] = fmt::format("{}", fmt::join(folders, ":"));
  }
  for (const auto& [key, value] : found->environment) {
    engine.environment[key] = replace_threads(value, threads);
  }
  return engine;
}

}  // namespace touchstone
