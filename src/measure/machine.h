// SPDX-License-Identifier: Apache-2.0
// What the machine did meanwhile: CPU time of others, time stolen by the hypervisor, and work of known cost.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace touchstone {

/// Time that the given CPUs have spent, from /proc/stat.
struct CpuTimes {
  std::int64_t busy_ns = 0;   // user, nice, system, interrupts
  std::int64_t steal_ns = 0;  // taken by the hypervisor
};
CpuTimes read_cpu_times(const std::vector<int>& cpus);

/// How fast the machine is just now: a fixed piece of floating-point work on every CPU of a set at once. It
/// keeps the multiply and add units full, so it slows down when somebody else computes on the same physical
/// core, which neither steal time nor the kernel's accounting shows. (A chain of dependent integer steps,
/// tried first, does not: on a shared machine it stayed within 1 % while inferences took from 1 to 2 times as
/// long.)
class MachineProbe {
 public:
  static constexpr std::size_t kFewestRuns = 12;
  explicit MachineProbe(std::vector<int> cpus) : cpus_(std::move(cpus)) {}
  /// Nanoseconds of the slowest CPU, one to four milliseconds.
  std::int64_t run();
  /// The median of all runs; nothing before there are twelve.
  std::optional<double> usual() const;
  /// What it takes in the best tenth of all runs; nothing before there are twelve.
  std::optional<double> at_best() const;

 private:
  std::vector<int> cpus_;
  std::vector<double> history_;
};

/// Bytes of the largest cache of the given CPU; 0 where the kernel does not say.
std::uint64_t last_level_cache_bytes(int cpu);

}  // namespace touchstone
