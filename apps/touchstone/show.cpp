// SPDX-License-Identifier: Apache-2.0
// `show` and `export`: views of a results file.
#include <fmt/format.h>

#include <map>
#include <memory>

#include "commands.h"
#include "results/load.h"
#include "usage.h"

namespace touchstone {
namespace {

using View = std::string (*)(const RunData&);

const std::map<std::string, View>& views() {
  static const std::map<std::string, View> kViews = {
      {"csv", render_csv}, {"json", render_json}, {"markdown", render_markdown}, {"article", render_article}};
  return kViews;
}

int print(const std::string& path, View view) {
  const auto data = load_latest_run(path);
  if (!data) {
    return report(data.error());
  }
  fmt::print("{}", view(*data));
  return kDone;
}

std::string table_and_answer(const RunData& data) {
  return fmt::format("{} ({}, {})\n\n{}\n{}", data.run.model, data.run.created, data.run.status,
                     render_markdown(data), render_answer(data));
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  auto path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("show", "The newest run of a results file, and its answer");
  command->add_option("RESULTS", *path, "A results file")->required();
  command->callback([path, &action] { action = [path] { return print(*path, table_and_answer); }; });
}

void add_export(CLI::App& app, Action& action) {
  struct Options {
    std::string path, format = "csv";
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("export", "The newest run of a results file in another format");
  command->add_option("RESULTS", options->path, "A results file")->required();
  command->add_option("--format", options->format, "csv, json, markdown or article")
      ->check(one_of({"csv", "json", "markdown", "article"}))
      ->capture_default_str();
  command->callback([options, &action] {
    action = [options] { return print(options->path, views().at(options->format)); };
  });
}

}  // namespace touchstone
