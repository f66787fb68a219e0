// SPDX-License-Identifier: Apache-2.0
// conformance_tests [--engine NAME]... [--operator NAME] [--write-docs FILE] [--all]: runs every operator
// case on the reference and on every engine that can be used here; fails on results that differ and are not
// in known.json.
#include <cstdio>
#include <optional>

#include "report.h"
#include "support/command.h"
#include "support/places.h"

namespace touchstone {
namespace {

struct Arguments {
  std::vector<std::string> engines;  // empty: all
  std::string operator_name;         // empty: all
  std::string page;                  // where to write docs/conformance.md
  bool all = false;                  // print every case that did not pass
};

std::optional<Arguments> parse(std::vector<std::string> words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool last = i + 1 == words.size();
    if (words[i] == "--all") {
      arguments.all = true;
    } else if (words[i] == "--engine" && !last) {
      arguments.engines.push_back(words[++i]);
    } else if (words[i] == "--operator" && !last) {
      arguments.operator_name = words[++i];
    } else if (words[i] == "--write-docs" && !last) {
      arguments.page = words[++i];
    } else {
      return std::nullopt;
    }
  }
  return arguments;
}

bool wanted(const EngineManifest& manifest, const Arguments& arguments) {
  if (!arguments.engines.empty()) {
    return std::find(arguments.engines.begin(), arguments.engines.end(), manifest.name) !=
           arguments.engines.end();
  }
  return manifest.name == "reference" || !manifest.hidden;
}

// Engines that are not installed are left out, and named.
Result<std::vector<ColumnReport>> run_columns(const std::vector<Case>& cases, const Arguments& arguments) {
  TOUCHSTONE_ASSIGN(const auto catalogue, read_catalogue(source_folder() + "/engines"));
  std::vector<ColumnReport> columns;
  for (const EngineManifest& manifest : catalogue) {
    for (const std::string& mode : manifest.modes) {
      if (!wanted(manifest, arguments)) {
        continue;
      }
      const std::string label = manifest.modes.size() > 1 ? manifest.name + ":" + mode : manifest.name;
      const auto engine =
          resolve_engine(catalogue, {real_home(), built_bin()}, manifest.name, "", mode, "cpu", 1);
      if (!engine) {
        std::printf("%s is left out: %s\n", label.c_str(), engine.error().message.c_str());
        continue;
      }
      const TemporaryFolder folder;
      ConformanceColumn column(*engine, label, folder.path());
      ColumnReport report{label, engine->version, {}};
      for (const Case& tried : cases) {
        report.results.push_back(column.run(tried));
      }
      columns.push_back(std::move(report));
    }
  }
  return columns;
}

void print_all(const std::vector<Case>& cases, const std::vector<ColumnReport>& columns) {
  for (const ColumnReport& column : columns) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (column.results[i].outcome != Outcome::kPassed) {
        std::printf("%s %d %s: %s\n", column.label.c_str(), static_cast<int>(column.results[i].outcome),
                    cases[i].name.c_str(), column.results[i].message.c_str());
      }
    }
  }
}

Result<int> run(const Arguments& arguments) {
  const std::string folder = TOUCHSTONE_CASES;
  TOUCHSTONE_ASSIGN(std::vector<Case> cases, read_cases(folder + "/cases"));
  TOUCHSTONE_ASSIGN(Known known, read_known(folder + "/known.json"));
  if (!arguments.operator_name.empty()) {
    std::erase_if(cases, [&](const Case& tried) { return tried.operator_name != arguments.operator_name; });
    known.at_least.clear();
  }
  TOUCHSTONE_ASSIGN(const auto columns, run_columns(cases, arguments));
  if (arguments.all) {
    print_all(cases, columns);
  }
  std::printf("%zu cases\n%s", cases.size(), totals_table(columns).c_str());
  if (!arguments.page.empty()) {
    TOUCHSTONE_TRY(write_text_file(arguments.page, conformance_page(cases, columns, known)));
  }
  const auto found = complaints(cases, columns, known);
  for (const std::string& line : found) {
    std::printf("%s\n", line.c_str());
  }
  return found.empty() && !columns.empty() ? 0 : 1;
}

}  // namespace
}  // namespace touchstone

int main(int argc, char** argv) {
  const auto arguments = touchstone::parse({argv + 1, argv + argc});
  if (!arguments) {
    std::fprintf(
        stderr,
        "usage: conformance_tests [--engine NAME]... [--operator NAME] [--write-docs FILE] [--all]\n");
    return 2;
  }
  const auto status = touchstone::run(*arguments);
  if (!status) {
    std::fprintf(stderr, "%s\n", status.error().message.c_str());
  }
  return status.value_or(1);
}
