// SPDX-License-Identifier: Apache-2.0
#include "engines/catalogue.h"

#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
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

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Result<void> check_manifest(const EngineManifest& manifest, const fs::path& path) {
  const auto refuse = [&](const std::string& key, const std::string& found, const std::string& expected) {
    return fail(Reason::kUsage, "{}: {} is {}; expected {}", path.string(), key,
                found.empty() ? "missing" : "'" + found + "'", expected);
  };
  if (manifest.name != path.parent_path().filename().string()) {
    return refuse("name", manifest.name, "the name of its folder");
  }
  if (manifest.modes.empty()) {
    return refuse("modes", "", "a list of one or more");
  }
  if (manifest.devices.empty()) {
    return refuse("devices", "", "a list of one or more");
  }
  if (manifest.shape_modes.empty()) {
    return refuse("shape_modes", "", "a list of one or more");
  }
  for (const std::string& mode : manifest.shape_modes) {
    if (mode != "dynamic" && mode != "fixed") {
      return refuse("a shape mode", mode, "dynamic or fixed");
    }
  }
  if (!contains({"source", "fused", "packed"}, manifest.form)) {
    return refuse("form", manifest.form, "source, fused or packed");
  }
  if (!contains({"onnx", "graph"}, manifest.reads)) {
    return refuse("reads", manifest.reads, "onnx or graph");
  }
  if (!manifest.versions.empty() && !contains(manifest.versions, manifest.default_version)) {
    return refuse("default_version", manifest.default_version, "one of its versions");
  }
  return {};
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
  if (const toml::table* tune = table["tune"].as_table()) {
    manifest.tune_forms = texts(*tune, "forms");
    if (const toml::table* options = (*tune)["options"].as_table()) {
      for (const auto& [key, value] : *options) {
        manifest.tune_options[std::string(key.str())] = texts(*options, key.str());
      }
    }
  }
  if (const toml::array* versions = table["versions"].as_array()) {
    for (const toml::node& version : *versions) {
      if (const toml::table* entry = version.as_table()) {
        manifest.versions.push_back((*entry)["version"].value_or(std::string()));
      }
    }
  }
  TOUCHSTONE_TRY(check_manifest(manifest, path));
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

// "cuda" of "cuda:1".
std::string kind_of(const std::string& device) {
  return device.substr(0, device.find(':'));
}

// The SDK for another device than the CPU is another build, and has a folder of its own.
std::string sdk_folder(const EnginePlaces& places, const std::string& name, const std::string& version,
                       const std::string& kind) {
  return fmt::format("{}/sdk/{}/{}{}", places.home, name, version, kind == "cpu" ? "" : "-" + kind);
}

// 1.9.0 comes before 1.32.0: digits compare as numbers.
bool older(const std::string& a, const std::string& b) {
  return strverscmp(a.c_str(), b.c_str()) < 0;
}

const EngineManifest* find_manifest(const std::vector<EngineManifest>& catalogue, const std::string& name) {
  const auto found = std::find_if(catalogue.begin(), catalogue.end(),
                                  [&](const EngineManifest& m) { return m.name == name; });
  return found == catalogue.end() ? nullptr : &*found;
}

tl::unexpected<Error> no_such_engine(const std::vector<EngineManifest>& catalogue, const std::string& name) {
  const auto offered = names_of(catalogue, [](const EngineManifest& m) { return !m.hidden; });
  return fail(Reason::kUsage, "there is no engine '{}'{}; known: {}", name, did_you_mean(name, offered),
              join(offered));
}

tl::unexpected<Error> no_such_version(const EngineManifest& manifest, const std::string& version,
                                      const std::vector<std::string>& installed) {
  return fail(Reason::kUsage, "there is no {} {}{}; known: {}{}{}", manifest.name, version,
              did_you_mean(version, manifest.versions), join(manifest.versions),
              installed.empty() ? "" : "; installed: ", join(installed));
}

std::string replace_threads(std::string text, int threads) {
  constexpr std::string_view kMark = "{threads}";
  if (const std::size_t at = text.find(kMark); at != std::string::npos) {
    text.replace(at, kMark.size(), std::to_string(threads));
  }
  return text;
}

std::vector<std::string> versions_for(const EngineManifest& manifest, const EnginePlaces& places,
                                      const std::string& kind) {
  const std::string suffix = kind == "cpu" ? "" : "-" + kind;
  std::vector<std::string> versions;
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(fmt::format("{}/sdk/{}", places.home, manifest.name), error)) {
    std::string name = entry.path().filename().string();
    const bool another_device = kind == "cpu" && name.ends_with("-cuda");
    if (name.starts_with('.') || another_device || !name.ends_with(suffix) ||
        !fs::exists(entry.path() / "sdk.json", error)) {
      continue;
    }
    name.resize(name.size() - suffix.size());
    versions.push_back(std::move(name));
  }
  std::sort(versions.begin(), versions.end(), older);
  return versions;
}

// Why a known version cannot be used, and what to do.
tl::unexpected<Error> not_installed(const EngineManifest& manifest, const EnginePlaces& places,
                                    const std::string& version, const std::string& kind) {
  const std::string folder = sdk_folder(places, manifest.name, version, kind);
  const std::string command = fmt::format("`touchstone engines install {}=={}`", manifest.name, version);
  if (fs::exists(folder)) {
    return fail(Reason::kEngineMissing, "{} {} is there in part only ({}/sdk.json is missing); {} repairs it",
                manifest.name, version, folder, command);
  }
  return fail(Reason::kEngineMissing, "{} {} is not installed; {} does it", manifest.name, version, command);
}

// The version to use, and that its SDK is there.
Result<std::string> choose_version(const EngineManifest& manifest, const EnginePlaces& places,
                                   const std::string& asked, const std::string& kind) {
  if (manifest.versions.empty()) {
    if (!asked.empty() && asked != manifest.default_version) {
      return no_such_version(manifest, asked, {manifest.default_version});
    }
    return manifest.default_version;
  }
  const auto installed = versions_for(manifest, places, kind);
  const std::string wanted = asked.empty() ? manifest.default_version : asked;
  for (const std::string& version : installed) {
    if (version == wanted || version.starts_with(wanted + "+")) {
      return version;
    }
  }
  if (asked.empty() && !installed.empty()) {
    return installed.back();
  }
  if (!contains(manifest.versions, wanted)) {
    return no_such_version(manifest, wanted, installed);
  }
  return not_installed(manifest, places, wanted, kind);
}

Result<void> check_worker(const std::string& name, const std::string& worker) {
  if (access(worker.c_str(), X_OK) == 0) {
    return {};
  }
  return fail(Reason::kEngineMissing,
              "the worker {} is {}; tools/setup builds it once the SDK of {} is there", worker,
              access(worker.c_str(), F_OK) == 0 ? "not executable" : "not built", name);
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
  return versions_for(manifest, places, "cpu");
}

Result<void> check_installable(const std::vector<EngineManifest>& catalogue, const std::string& selector) {
  const std::size_t equals = selector.find("==");
  const std::string name = selector.substr(0, equals);
  const EngineManifest* manifest = find_manifest(catalogue, name);
  if (manifest == nullptr) {
    return no_such_engine(catalogue, name);
  }
  if (manifest->versions.empty()) {
    return fail(Reason::kUsage, "{} is built in; there is nothing to install", name);
  }
  if (equals != std::string::npos && !contains(manifest->versions, selector.substr(equals + 2))) {
    return no_such_version(*manifest, selector.substr(equals + 2), {});
  }
  return {};
}

Result<ResolvedEngine> resolve_engine(const std::vector<EngineManifest>& catalogue,
                                      const EnginePlaces& places, const std::string& name,
                                      const std::string& version, const std::string& mode,
                                      const std::string& device, int threads) {
  const EngineManifest* found = find_manifest(catalogue, name);
  if (found == nullptr) {
    return no_such_engine(catalogue, name);
  }
  ResolvedEngine engine;
  engine.manifest = *found;
  engine.mode = mode.empty() ? found->modes.front() : mode;
  if (!contains(found->modes, engine.mode)) {
    return fail(Reason::kUsage, "{} has no mode '{}'{}; known: {}", name, mode,
                did_you_mean(mode, found->modes), join(found->modes));
  }
  const std::string kind = kind_of(device);
  if (!contains(found->devices, kind)) {
    return fail(Reason::kDeviceMissing, "{} has no worker for device {} in this release; it runs on {}", name,
                device, join(found->devices));
  }
  TOUCHSTONE_ASSIGN(engine.version, choose_version(*found, places, version, kind));
  const std::string worker = places.bin + "/touchstone-worker-" + name;
  TOUCHSTONE_TRY(check_worker(name, worker));
  engine.command = {worker};
  if (!found->versions.empty()) {
    engine.sdk = sdk_folder(places, name, engine.version, kind);
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
