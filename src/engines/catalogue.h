// SPDX-License-Identifier: Apache-2.0
// What engines there are, which are installed, and how their workers are started; from
// engines/NAME/manifest.toml.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace touchstone {

struct EngineManifest {
  std::string name, title, licence;
  std::vector<std::string> modes, shape_modes, devices;
  std::string form;   // which form of a bundle it takes
  std::string reads;  // `onnx` or `graph`: which file of the form
  std::string default_version;
  std::vector<std::string> versions;      // those whose SDK can be installed; empty: nothing to install
  std::vector<std::string> library_path;  // within the SDK's folder
  std::map<std::string, std::string> environment;
  /// What `touchstone tune` tries beside the defaults: forms of a bundle, and values of documented options.
  std::vector<std::string> tune_forms;
  std::map<std::string, std::vector<std::string>> tune_options;
  bool hidden = false;  // for testing the bench; not offered to users
};

/// One engine, ready to be started.
struct ResolvedEngine {
  EngineManifest manifest;
  std::string version, mode;
  std::string sdk;  // folder; empty for engines without one
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;  // library path and thread limits
};

/// Reads `folder`/*/manifest.toml. Errors: usage, with file and line.
Result<std::vector<EngineManifest>> read_catalogue(const std::string& folder);

/// Where things are, for resolving.
struct EnginePlaces {
  std::string home;  // SDKs are under home/sdk/NAME/VERSION
  std::string bin;   // workers are bin/touchstone-worker-NAME
};

/// The versions of an engine whose SDK is whole on this machine, newest last. A build's variant is part of
/// its version ("2.13.0+cpu"); SDKs for another device than the CPU are not among them.
std::vector<std::string> installed_versions(const EngineManifest& manifest, const EnginePlaces& places);

/// Whether `NAME[==VERSION]` can be installed. Errors: usage: unknown engine or version, with the nearest
/// known; an engine that is built in.
Result<void> check_installable(const std::vector<EngineManifest>& catalogue, const std::string& selector);

/// Finds an engine by name, version (empty: the default, or the newest installed) and mode (empty: the
/// first). A version without a variant finds the installed build of any variant. Errors: usage (unknown
/// engine, mode, version), engine-missing (SDK or worker not there, or there in part; says how to get it),
/// device-missing.
Result<ResolvedEngine> resolve_engine(const std::vector<EngineManifest>& catalogue,
                                      const EnginePlaces& places, const std::string& name,
                                      const std::string& version, const std::string& mode,
                                      const std::string& device, int threads);

}  // namespace touchstone
