// SPDX-License-Identifier: Apache-2.0
#include "bench/planned_columns.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "bench/cpu_set.h"
#include "measure/machine.h"

namespace touchstone {
namespace {

// A worker may use this share of the machine's memory unless the plan says otherwise.
constexpr double kMemoryShare = 0.9;

std::string log_path(const Installation& installation, const std::string& label) {
  std::string name = label;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c == ' ' || c == ':' || c == '='; }, '-');
  const std::string path = fmt::format("{}/logs/{}-{}.log", installation.home, name, getpid());
  std::error_code ignored;
  std::filesystem::create_directories(installation.home + "/logs", ignored);
  std::filesystem::remove(path, ignored);
  return path;
}

// The file of the wanted form; none is the one that the engine runs best.
std::string model_file(const Bundle& bundle, const EngineManifest& manifest, const std::string& wanted) {
  const auto form = bundle.forms.find(wanted.empty() ? manifest.form : wanted);
  const FormFiles& files = form == bundle.forms.end() ? bundle.forms.at("source") : form->second;
  return manifest.reads == "onnx" ? files.onnx : files.graph;
}

}  // namespace

Result<std::vector<PlannedColumn>> planned_columns(const Plan& plan, const Installation& installation,
                                                   const Bundle& bundle,
                                                   const std::vector<EngineManifest>& catalogue,
                                                   const std::vector<Column>& columns,
                                                   const std::vector<int>& cpus) {
  const EnginePlaces places{installation.home, installation.bin};
  const std::uint64_t limit =
      plan.memory_limit > 0 ? plan.memory_limit
                            : static_cast<std::uint64_t>(kMemoryShare * static_cast<double>(usable_memory()));
  std::vector<PlannedColumn> planned;
  for (const Column& column : columns) {
    const int threads = column.threads == 0 ? static_cast<int>(cpus.size()) : column.threads;
    auto engine = resolve_engine(catalogue, places, column.engine.engine, column.engine.version,
                                 column.engine.mode, column.device, threads);
    if (!engine && engine.error().reason == Reason::kUsage) {
      return tl::unexpected(engine.error());
    }
    PlannedColumn made;
    made.setting.column = column;
    made.setting.label = column_label(column, columns);
    made.setting.threads = threads;
    made.setting.cpus.assign(cpus.begin(), cpus.begin() + threads);
    made.setting.memory_limit = limit;
    made.setting.timeout = plan.cell_timeout;
    made.setting.log_file = log_path(installation, made.setting.label);
    TOUCHSTONE_ASSIGN(made.setting.judging, judging_of(plan, bundle, column.precision));
    if (engine) {
      made.setting.engine = *engine;
      made.setting.model = model_file(bundle, engine->manifest, column.form);
    } else {
      made.missing = engine.error();
    }
    planned.push_back(std::move(made));
  }
  return planned;
}

Result<std::vector<int>> cpus_for(const std::vector<Column>& columns) {
  int most = 0;
  for (const Column& column : columns) {
    if (column.threads == 0) {
      return choose_cpu_set(0);
    }
    most = std::max(most, column.threads);
  }
  return choose_cpu_set(most);
}

Result<ResolvedEngine> reference_engine(const Installation& installation,
                                        const std::vector<EngineManifest>& catalogue,
                                        const std::vector<int>& cpus) {
  return resolve_engine(catalogue, {installation.home, installation.bin}, "reference", "", "", "cpu",
                        static_cast<int>(cpus.size()));
}

WorkerLaunch reference_launch(const Plan& plan, const Installation& installation,
                              const ResolvedEngine& engine, const std::vector<int>& cpus) {
  WorkerLaunch launch;
  launch.name = "reference";
  launch.command = engine.command;
  launch.cpus = cpus;
  launch.timeout = std::max<std::chrono::nanoseconds>(plan.cell_timeout, std::chrono::minutes(10));
  launch.log_file = log_path(installation, "reference");
  return launch;
}

}  // namespace touchstone
