// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "bench/run.h"
#include "commands.h"
#include "engines/catalogue.h"

namespace touchstone {
namespace {

std::string status_of(const EngineManifest& manifest, const std::vector<EngineManifest>& catalogue,
                      const EnginePlaces& places) {
  const auto installed = installed_versions(manifest, places);
  const auto usable = resolve_engine(catalogue, places, manifest.name, "", "", "cpu", 1);
  if (!usable) {
    return usable.error().message;
  }
  return installed.empty() ? "built in" : fmt::format("installed: {}", fmt::join(installed, ", "));
}

int list() {
  const Installation installation = find_installation();
  const EnginePlaces places{installation.home, installation.bin};
  const auto catalogue = read_catalogue(installation.manifests);
  if (!catalogue) {
    return report(catalogue.error());
  }
  for (const EngineManifest& manifest : *catalogue) {
    if (manifest.hidden) {
      continue;
    }
    std::vector<std::string> modes;
    for (const std::string& mode : manifest.modes) {
      modes.push_back(mode == "default" ? manifest.name : manifest.name + ":" + mode);
    }
    fmt::print("{:14} {}\n  modes: {}; shapes: {}; devices: {}; licence: {}\n  known versions: {}\n",
               manifest.name, status_of(manifest, *catalogue, places), fmt::join(modes, ", "),
               fmt::join(manifest.shape_modes, ", "), fmt::join(manifest.devices, ", "), manifest.licence,
               fmt::join(manifest.versions, ", "));
  }
  return kDone;
}

// tools/fetch-sdk does the work; it stands beside the manifests, in the sources and in an installed tree
// alike.
int install(const std::vector<std::string>& names) {
  const Installation installation = find_installation();
  const std::string tool = installation.manifests + "/../tools/fetch-sdk";
  for (const std::string& name : names) {
    const pid_t child = fork();
    if (child == 0) {
      execl("/usr/bin/env", "env", "python3", tool.c_str(), name.c_str(), "--root", installation.home.c_str(),
            static_cast<char*>(nullptr));
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      return report({WIFEXITED(status) && WEXITSTATUS(status) == 2 ? Reason::kUsage : Reason::kEngineMissing,
                     name + " was not installed"});
    }
  }
  return kDone;
}

}  // namespace

void add_engines(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("engines", "Which engines are known, installed, usable; install one");
  auto names = std::make_shared<std::vector<std::string>>();
  CLI::App* installer = command->add_subcommand("install", "Fetch an engine's SDK: NAME[==VERSION]");
  installer->add_option("NAME", *names, "NAME[==VERSION]")->required();
  installer->callback([names, &action] { action = [names] { return install(*names); }; });
  command->callback([installer, &action] {
    if (!installer->parsed()) {
      action = list;
    }
  });
}

}  // namespace touchstone
