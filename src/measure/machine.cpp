// SPDX-License-Identifier: Apache-2.0
#include "measure/machine.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace touchstone {
namespace {

std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

CpuTimes read_cpu_times(const std::vector<int>& cpus) {
  static const std::int64_t kTick = 1'000'000'000 / sysconf(_SC_CLK_TCK);
  std::ifstream file("/proc/stat");
  CpuTimes total;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string name;
    std::int64_t user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softirq = 0, steal = 0;
    fields >> name >> user >> nice >> system >> idle >> wait >> irq >> softirq >> steal;
    const bool ours =
        std::any_of(cpus.begin(), cpus.end(), [&](int cpu) { return name == "cpu" + std::to_string(cpu); });
    if (ours) {
      total.busy_ns += (user + nice + system + irq + softirq) * kTick;
      total.steal_ns += steal * kTick;
    }
  }
  return total;
}

std::int64_t run_calibration_kernel() {
  constexpr int kSteps = 400'000;
  volatile std::uint64_t sink = 0;
  const std::int64_t begin = now();
  std::uint64_t state = 1;
  for (int i = 0; i < kSteps; ++i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    state ^= state >> 29;
  }
  sink = state;
  (void)sink;
  return now() - begin;
}

std::uint64_t last_level_cache_bytes(int cpu) {
  std::uint64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/index" +
                       std::to_string(index) + "/size");
    std::uint64_t kib = 0;
    file >> kib;
    largest = std::max(largest, kib * 1024);
  }
  return largest;
}

}  // namespace touchstone
