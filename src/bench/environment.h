// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace touchstone {

/// What could change a time and is not an engine's option: processor, caches, flags, governor, kernel,
/// limits. Keys are documented in docs/results-schema.md.
std::map<std::string, std::string> describe_machine(const std::vector<int>& cpus);

}  // namespace touchstone
