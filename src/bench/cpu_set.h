// SPDX-License-Identifier: Apache-2.0
// The CPUs that every worker of a run is put on: one logical CPU per physical core, on one NUMA node.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace touchstone {

/// The CPUs for `threads` threads (0: as many as there are) out of those this process may use. Reads the
/// kernel's topology under `sysfs` (/sys/devices/system). Errors: usage, where fewer physical cores are there
/// than asked for.
Result<std::vector<int>> choose_cpu_set(int threads, const std::string& sysfs = "/sys/devices/system");

/// Parses the kernel's list format, `0-3,8`. Malformed parts are skipped.
std::vector<int> parse_cpu_list(const std::string& text);

}  // namespace touchstone
