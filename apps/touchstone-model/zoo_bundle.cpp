// SPDX-License-Identifier: Apache-2.0
// Bundles of the zoo: weights are made in place in weights.bin.
#include "built_bundle.h"
#include "bundles.h"

namespace touchstone {
namespace {

constexpr std::uint64_t kSeed = 1;

}  // namespace

Result<Bundle> zoo_bundle(const ZooEntry& entry, const std::filesystem::path& bundles) {
  const auto final_folder = bundles / fmt::format("zoo-{}-v{}", entry.name, kZooVersion);
  if (auto cached = read_bundle(final_folder.string())) {
    return cached;
  }
  const TemporaryFolder folder(final_folder);
  TOUCHSTONE_TRY(folder.create());
  const auto generate = [](const WeightSpec& weight, std::span<float> out) -> Result<void> {
    generate_weights(weight, kSeed, out);
    return {};
  };
  TOUCHSTONE_ASSIGN(Bundle bundle, build_bundle(entry, generate, folder));
  bundle.source = "zoo:" + entry.name;
  return folder.commit(bundle);
}

}  // namespace touchstone
