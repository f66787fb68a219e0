// SPDX-License-Identifier: Apache-2.0
// An installation of Touchstone that a test may spoil: its own executables, manifests and home.
#pragma once

#include <string>
#include <vector>

#include "support/command.h"

namespace touchstone {

/// The folder of the programs that this build made.
std::string built_bin();
/// Where the machine's SDKs are, and the sources.
std::string real_home();
std::string source_folder();

/// A tree as `cmake --install` makes it (bin/, share/touchstone/engines/), and a home whose sdk/ is the
/// machine's own.
class PrivateInstallation {
 public:
  PrivateInstallation();
  std::string bin() const { return folder_ / "bin"; }
  std::string home() const { return folder_ / "home"; }
  std::string work() const { return folder_ / "work"; }
  std::string manifests() const { return folder_ / "share/touchstone/engines"; }

  /// Adds an engine of this name whose worker is a shell script.
  void add_script_engine(const std::string& name, const std::string& script) const;
  /// Runs `touchstone ARGUMENTS` in the folder work().
  CommandResult touchstone(std::vector<std::string> arguments) const;
  std::vector<std::string> command(std::vector<std::string> arguments) const;
  CommandSetting setting() const;

 private:
  TemporaryFolder folder_;
};

}  // namespace touchstone
