// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "engines/catalogue.h"

namespace touchstone {
namespace {

struct EnginesOptions {
  std::string home;
  bool json = false;
  std::vector<std::string> names;
};

// Why it cannot be used here, or empty.
std::string obstacle(const std::vector<EngineManifest>& catalogue, const EnginePlaces& places,
                     const EngineManifest& manifest) {
  const auto usable = resolve_engine(catalogue, places, manifest.name, "", "", "cpu", 1);
  return usable ? "" : usable.error().message;
}

std::vector<std::string> selectors_of(const EngineManifest& manifest) {
  std::vector<std::string> selectors;
  for (const std::string& mode : manifest.modes) {
    selectors.push_back(mode == "default" ? manifest.name : manifest.name + ":" + mode);
  }
  return selectors;
}

void print_engine(const EngineManifest& manifest, const std::vector<std::string>& installed,
                  const std::string& why_not) {
  fmt::print("{:14} {}\n", manifest.name, manifest.title);
  fmt::print("  installed: {}\n", installed.empty() ? "none" : fmt::format("{}", fmt::join(installed, ", ")));
  if (!why_not.empty()) {
    fmt::print("  not usable here: {}\n", why_not);
  }
  fmt::print("  known versions: {}\n  columns: {}; shapes: {}; devices: {}; licence: {}\n",
             fmt::join(manifest.versions, ", "), fmt::join(selectors_of(manifest), ", "),
             fmt::join(manifest.shape_modes, ", "), fmt::join(manifest.devices, ", "), manifest.licence);
}

int list(const EnginesOptions& options) {
  const Installation installation = installation_at(options.home);
  const EnginePlaces places{installation.home, installation.bin};
  const auto catalogue = read_catalogue(installation.manifests);
  if (!catalogue) {
    return report(catalogue.error());
  }
  nlohmann::json all = nlohmann::json::array();
  for (const EngineManifest& manifest : *catalogue) {
    if (manifest.hidden) {
      continue;
    }
    const auto installed = installed_versions(manifest, places);
    const std::string why_not = obstacle(*catalogue, places, manifest);
    if (!options.json) {
      print_engine(manifest, installed, why_not);
      continue;
    }
    all.push_back({{"name", manifest.name},
                   {"title", manifest.title},
                   {"installed", installed},
                   {"known", manifest.versions},
                   {"columns", selectors_of(manifest)},
                   {"shape_modes", manifest.shape_modes},
                   {"devices", manifest.devices},
                   {"licence", manifest.licence},
                   {"usable", why_not.empty()},
                   {"why_not", why_not}});
  }
  if (options.json) {
    fmt::print("{}\n", all.dump(1));
  }
  return kDone;
}

// Beside the manifests in the sources; under libexec in an installed tree. Empty: neither.
std::string fetch_tool(const Installation& installation) {
  const std::filesystem::path manifests(installation.manifests);
  const std::filesystem::path bin(installation.bin);
  for (const auto& path :
       {manifests.parent_path() / "tools/fetch-sdk", bin.parent_path() / "libexec/touchstone/fetch-sdk"}) {
    if (access(path.c_str(), R_OK) == 0) {
      return path.string();
    }
  }
  return "";
}

// Its output goes to the person as it comes; its exit code says how it went.
int fetch(const std::string& tool, const std::string& name, const std::string& home) {
  const pid_t child = fork();
  if (child < 0) {
    return 1;
  }
  if (child == 0) {
    execlp("python3", "python3", tool.c_str(), name.c_str(), "--root", home.c_str(),
           static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int exit_code_of(const std::string& name, int status) {
  if (status == kInterruptedExit) {  // also what a death by SIGINT is counted as
    return report({Reason::kInterrupted, name + " was not installed: interrupted"});
  }
  if (status == 127) {
    return report({Reason::kEngineMissing, name + " was not installed: python3 is needed for it"});
  }
  const Reason reason = status == 2 ? Reason::kUsage : Reason::kEngineMissing;
  return report({reason, name + " was not installed; the reason stands above"});
}

int install(const EnginesOptions& options) {
  const Installation installation = installation_at(options.home);
  const auto catalogue = read_catalogue(installation.manifests);
  if (!catalogue) {
    return report(catalogue.error());
  }
  for (const std::string& name : options.names) {
    if (const auto known = check_installable(*catalogue, name); !known) {
      return report(known.error());
    }
  }
  const std::string tool = fetch_tool(installation);
  if (tool.empty()) {
    return report({Reason::kEngineMissing, "tools/fetch-sdk is not there; is Touchstone installed whole?"});
  }
  for (const std::string& name : options.names) {
    if (const int status = fetch(tool, name, installation.home); status != 0) {
      return exit_code_of(name, status);
    }
  }
  return kDone;
}

}  // namespace

void add_engines(CLI::App& app, Action& action) {
  auto options = std::make_shared<EnginesOptions>();
  CLI::App* command =
      app.add_subcommand("engines", "Which engines are known, installed, usable; install one");
  command->add_option("--home", options->home, "Where SDKs are kept");
  command->add_flag("--json", options->json, "As one JSON array, for scripts");
  CLI::App* installer = command->add_subcommand("install", "Fetch an engine's SDK: NAME[==VERSION]");
  installer->add_option("NAME", options->names, "NAME[==VERSION], one or more")->required();
  installer->add_option("--home", options->home, "Where SDKs are kept");
  installer->callback([options, &action] { action = [options] { return install(*options); }; });
  command->callback([installer, options, &action] {
    if (!installer->parsed()) {
      action = [options] { return list(*options); };
    }
  });
}

}  // namespace touchstone
