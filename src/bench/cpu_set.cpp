// SPDX-License-Identifier: Apache-2.0
#include "bench/cpu_set.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace touchstone {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) {
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

// The first allowed CPU of every physical core.
std::vector<int> one_per_core(const std::vector<int>& allowed, const std::string& sysfs) {
  std::vector<int> chosen;
  for (const int cpu : allowed) {
    const auto siblings =
        parse_cpu_list(first_line(fmt::format("{}/cpu/cpu{}/topology/thread_siblings_list", sysfs, cpu)));
    const bool taken = std::any_of(chosen.begin(), chosen.end(), [&](int other) {
      return std::find(siblings.begin(), siblings.end(), other) != siblings.end();
    });
    if (!taken) {
      chosen.push_back(cpu);
    }
  }
  return chosen;
}

// The CPUs of the NUMA node that holds most of them; all where there are no nodes.
std::vector<int> on_largest_node(const std::vector<int>& cpus, const std::string& sysfs) {
  std::vector<int> best;
  for (const int node : parse_cpu_list(first_line(sysfs + "/node/online"))) {
    const auto members = parse_cpu_list(first_line(fmt::format("{}/node/node{}/cpulist", sysfs, node)));
    std::vector<int> here;
    std::copy_if(cpus.begin(), cpus.end(), std::back_inserter(here),
                 [&](int cpu) { return std::find(members.begin(), members.end(), cpu) != members.end(); });
    if (here.size() > best.size()) {
      best = here;
    }
  }
  return best.empty() ? cpus : best;
}

}  // namespace

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    int low = 0;
    const char* end = part.data() + part.size();
    const auto [after, error] = std::from_chars(part.data(), end, low);
    if (error != std::errc()) {
      continue;
    }
    int high = low;
    if (after != end && *after == '-') {
      std::from_chars(after + 1, end, high);
    }
    for (int cpu = low; cpu <= high; ++cpu) {
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

Result<std::vector<int>> choose_cpu_set(int threads, const std::string& sysfs) {
  std::vector<int> cpus = on_largest_node(one_per_core(allowed_cpus(), sysfs), sysfs);
  if (threads == 0) {
    return cpus;
  }
  if (threads < 0 || static_cast<std::size_t>(threads) > cpus.size()) {
    return fail(
        Reason::kUsage,
        "--threads {}: this machine has {} physical cores to give on one NUMA node; more threads than cores "
        "measure the scheduler, not the engine. Ask for {} or fewer",
        threads, cpus.size(), cpus.size());
  }
  cpus.resize(static_cast<std::size_t>(threads));
  return cpus;
}

}  // namespace touchstone
