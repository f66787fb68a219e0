// SPDX-License-Identifier: Apache-2.0
// What the machine did meanwhile: CPU time of others, time stolen by the hypervisor, and a kernel of known
// cost.
#pragma once

#include <cstdint>
#include <vector>

namespace touchstone {

/// Time that the given CPUs have spent, from /proc/stat.
struct CpuTimes {
  std::int64_t busy_ns = 0;   // user, nice, system, interrupts
  std::int64_t steal_ns = 0;  // taken by the hypervisor
};
CpuTimes read_cpu_times(const std::vector<int>& cpus);

/// Nanoseconds that a fixed loop of dependent integer steps takes here (about 1 ms): it depends on nothing
/// but the processor's speed, so a change of it is the machine's.
std::int64_t run_calibration_kernel();

/// Bytes of the largest cache of the given CPU; 0 where the kernel does not say.
std::uint64_t last_level_cache_bytes(int cpu);

}  // namespace touchstone
