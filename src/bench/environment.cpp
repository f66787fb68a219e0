// SPDX-License-Identifier: Apache-2.0
#include "bench/environment.h"

#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "bench/memory_watch.h"

namespace touchstone {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string cpuinfo(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key)) {
      const std::size_t colon = line.find(": ");
      return colon == std::string::npos ? "" : line.substr(colon + 2);
    }
  }
  return "";
}

std::string distribution() {
  std::ifstream file("/etc/os-release");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("PRETTY_NAME=")) {
      return line.substr(13, line.size() - 14);
    }
  }
  return "";
}

}  // namespace

std::map<std::string, std::string> describe_machine(const std::vector<int>& cpus) {
  utsname names{};
  uname(&names);
  const std::string cpu = "/sys/devices/system/cpu/cpu" + std::to_string(cpus.empty() ? 0 : cpus.front());
  std::map<std::string, std::string> facts = {
      {"cpu.model", cpuinfo("model name")},
      {"cpu.flags", cpuinfo("flags")},
      {"cpu.set", fmt::format("{}", fmt::join(cpus, ","))},
      {"cpu.logical", std::to_string(std::thread::hardware_concurrency())},
      {"cpu.governor", first_line(cpu + "/cpufreq/scaling_governor")},
      {"cpu.siblings", first_line(cpu + "/topology/thread_siblings_list")},
      {"numa.nodes", first_line("/sys/devices/system/node/online")},
      {"memory.bytes", std::to_string(usable_memory())},
      {"memory.huge_pages", first_line("/sys/kernel/mm/transparent_hugepage/enabled")},
      {"cgroup.cpu", first_line("/sys/fs/cgroup/cpu.max")},
      {"kernel", std::string(names.sysname) + " " + names.release},
      {"machine", names.machine},
      {"distribution", distribution()},
      {"hypervisor", cpuinfo("flags").find("hypervisor") == std::string::npos ? "none seen" : "yes"},
      {"load.at_start", first_line("/proc/loadavg")},
  };
  for (int index = 0; index < 5; ++index) {
    const std::string cache = cpu + "/cache/index" + std::to_string(index);
    const std::string size = first_line(cache + "/size");
    if (!size.empty()) {
      facts[fmt::format("cache.l{}.{}", first_line(cache + "/level"), first_line(cache + "/type"))] = size;
    }
  }
  return facts;
}

}  // namespace touchstone
