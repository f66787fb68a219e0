// SPDX-License-Identifier: Apache-2.0
// From a user's model to the bundle that was made of it, as long as its files have not changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "graph/bundle.h"

namespace touchstone {

/// Changes whenever the same files would give another bundle.
inline constexpr int kSourceVersion = 5;

/// Kept beside the bundles; holds size and time of every file that went into one.
class SourceNote {
 public:
  struct Stamp {
    std::uint64_t size = 0;
    std::int64_t time = 0;
    bool operator==(const Stamp&) const = default;
  };

  SourceNote(std::filesystem::path model, std::filesystem::path bundles);

  /// The bundle that was noted, if its files are as they were.
  std::optional<Bundle> bundle() const;

  /// Stamps are to be taken before reading: a file that changes meanwhile is read again next time.
  void add(const std::string& file);
  const std::map<std::string, Stamp>& files() const { return files_; }
  /// `folder` is the bundle's, under the bundles. Errors: storage.
  Result<void> write(const std::string& folder) const;

 private:
  std::filesystem::path path() const;

  std::filesystem::path model_;
  std::filesystem::path bundles_;
  std::map<std::string, Stamp> files_;
};

}  // namespace touchstone
