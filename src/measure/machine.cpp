// SPDX-License-Identifier: Apache-2.0
#include "measure/machine.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "measure/series.h"

namespace touchstone {
namespace {

std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Twelve independent chains of multiplications and additions, four floats wide: what every x86-64 has, and
// enough of them to keep both kinds of units full.
std::int64_t time_kernel_on(int cpu) {
  using Floats = float __attribute__((vector_size(16)));
  constexpr int kChains = 12;
  constexpr int kSteps = 100'000;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(cpu), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  std::array<Floats, kChains> chains{};
  const Floats factor = {0.999F, 0.998F, 0.997F, 0.996F};
  const Floats term = {0.001F, 0.002F, 0.003F, 0.004F};
  const std::int64_t begin = now();
  for (int step = 0; step < kSteps; ++step) {
    for (Floats& chain : chains) {
      chain = chain * factor + term;
    }
  }
  const std::int64_t elapsed = now() - begin;
  volatile float sink = 0;
  for (const Floats& chain : chains) {
    sink = sink + chain[0];
  }
  return elapsed;
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

std::int64_t MachineProbe::run() {
  std::vector<std::int64_t> times(cpus_.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < cpus_.size(); ++i) {
      threads.emplace_back([&, i] { times[i] = time_kernel_on(cpus_[i]); });
    }
  }
  const std::int64_t slowest = *std::max_element(times.begin(), times.end());
  history_.push_back(static_cast<double>(slowest));
  return slowest;
}

std::optional<double> MachineProbe::usual() const {
  return history_.size() < kFewestRuns ? std::nullopt : std::optional(median(history_));
}

std::optional<double> MachineProbe::at_best() const {
  return history_.size() < kFewestRuns ? std::nullopt : std::optional(quantile(history_, 0.1));
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
