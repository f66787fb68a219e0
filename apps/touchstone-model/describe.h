// SPDX-License-Identifier: Apache-2.0
// What bundle.json says of a graph, and what is left of its folder's making.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "graph/bundle.h"

namespace touchstone {

/// Name, dimensions, input rules, outputs, opsets, operators and whether rows look independent.
Bundle describe(const Graph& graph);

/// A folder beside the final one, renamed into place when whole, removed otherwise.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& final_folder);
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  std::string file(const std::string& name) const { return (path_ / name).string(); }

  /// Errors: storage.
  Result<void> create() const;
  /// Writes bundle.json, moves the folder into place and returns the bundle as read from there.
  Result<Bundle> commit(const Bundle& bundle) const;

 private:
  std::filesystem::path final_;
  std::filesystem::path path_;
};

}  // namespace touchstone
