// SPDX-License-Identifier: Apache-2.0
#include "end_to_end/driver.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "results/load.h"

namespace touchstone {

const PrivateInstallation& shared_installation() {
  static const PrivateInstallation kInstallation;
  return kInstallation;
}

std::vector<std::string> tiny_run(const std::string& engines, const std::string& batches,
                                  const std::string& results, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"run",   "bert-tiny", "--engines", engines, "--batch",
                                        batches, "--seq",     "8",         "-o",    results};
  arguments.insert(arguments.end(), more.begin(), more.end());
  for (const auto& [flag, value] : {std::pair{"--budget", "20s"}, std::pair{"--precision-target", "20%"}}) {
    if (std::find(more.begin(), more.end(), flag) == more.end()) {
      arguments.insert(arguments.end(), {flag, value});
    }
  }
  return arguments;
}

std::string fresh_results() {
  static int count = 0;
  return "results-" + std::to_string(++count) + ".db";
}

RunData results_at(const std::string& path) {
  const auto data = load_latest_run(path);
  REQUIRE_MESSAGE(data.has_value(), data.error().message);
  return *data;
}

RunData results_of(const std::string& results) {
  return results_at(shared_installation().work() + "/" + results);
}

const CellRecord& cell_of(const RunData& data, const std::string& column, std::int64_t batch) {
  for (const CellRecord& cell : data.cells) {
    if (cell.column == column && cell.batch == batch) {
      return cell;
    }
  }
  FAIL("there is no cell of " << column << " at batch " << batch);
  return data.cells.front();
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace touchstone
