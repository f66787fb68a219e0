// SPDX-License-Identifier: Apache-2.0
#include "source_note.h"

#include <unistd.h>

#include "base/hash.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

SourceNote::Stamp stamp_of(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  const auto time = fs::last_write_time(file, error);
  return error ? SourceNote::Stamp{} : SourceNote::Stamp{size, time.time_since_epoch().count()};
}

}  // namespace

SourceNote::SourceNote(fs::path model, fs::path bundles)
    : model_(std::move(model)), bundles_(std::move(bundles)) {}

fs::path SourceNote::path() const {
  return bundles_ / "by-file" /
         (sha256(fmt::format("v{}|{}", kSourceVersion, model_.string())).substr(0, 32) + ".json");
}

void SourceNote::add(const std::string& file) {
  files_.emplace(file, stamp_of(file));
}

std::optional<Bundle> SourceNote::bundle() const {
  const auto text = read_text_file(path().string());
  const auto note = json::parse(text ? *text : "", nullptr, false);
  if (!note.is_object()) {
    return std::nullopt;
  }
  try {
    for (const auto& [file, stamp] : note.at("files").items()) {
      if (stamp_of(file) != Stamp{stamp.at(0).get<std::uint64_t>(), stamp.at(1).get<std::int64_t>()}) {
        return std::nullopt;
      }
    }
    auto bundle = read_bundle((bundles_ / note.at("folder").get<std::string>()).string());
    return bundle ? std::optional(std::move(*bundle)) : std::nullopt;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

Result<void> SourceNote::write(const std::string& folder) const {
  json stamps = json::object();
  for (const auto& [file, stamp] : files_) {
    stamps[file] = {stamp.size, stamp.time};
  }
  std::error_code error;
  fs::create_directories(bundles_ / "by-file", error);
  const std::string note = path().string();
  const std::string partial = fmt::format("{}.partial-{}", note, getpid());
  TOUCHSTONE_TRY(write_text_file(partial, json{{"folder", folder}, {"files", stamps}}.dump()));
  fs::rename(partial, note, error);
  if (error) {
    return fail(Reason::kStorage, "{}: cannot be moved into place: {}", note, error.message());
  }
  return {};
}

}  // namespace touchstone
