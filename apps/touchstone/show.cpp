// SPDX-License-Identifier: Apache-2.0
// `show` and `export`: views of a results file.
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <memory>
#include <optional>

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

using PageView = std::string (*)(const std::vector<RunData>&);

// Over all models of the file, not of one run.
const std::map<std::string, PageView>& pages() {
  static const std::map<std::string, PageView> kPages = {{"averages", render_averages},
                                                         {"generation", render_generation}};
  return kPages;
}

struct ViewOptions {
  std::string results, format = "csv", output;
  std::optional<std::int64_t> run;
};

void add_source(CLI::App& command, ViewOptions& options) {
  command.add_option("RESULTS", options.results, "A results file")->required();
  command.add_option("--run", options.run, "Another run than the newest, by its number");
}

int write(const ViewOptions& options, const std::string& text) {
  if (options.output.empty()) {
    fmt::print("{}", text);
    return kDone;
  }
  std::ofstream file(options.output, std::ios::trunc);
  file << text;
  if (!file.flush()) {
    return report({Reason::kStorage, options.output + ": cannot be written"});
  }
  return kDone;
}

int print(const ViewOptions& options, View view) {
  const auto data = options.run ? load_run(options.results, *options.run) : load_latest_run(options.results);
  return data ? write(options, view(*data)) : report(data.error());
}

int print_page(const ViewOptions& options, PageView page) {
  const auto runs = load_latest_runs(options.results);
  return runs ? write(options, page(*runs)) : report(runs.error());
}

std::string table_and_answer(const RunData& data) {
  return fmt::format("{} ({}, {})\n\n{}\n{}", data.run.model, data.run.created, data.run.status,
                     render_table(data), render_answer(data));
}

}  // namespace

void add_show(CLI::App& app, Action& action) {
  auto options = std::make_shared<ViewOptions>();
  CLI::App* command = app.add_subcommand("show", "A run of a results file, and its answer");
  add_source(*command, *options);
  command->callback([options, &action] { action = [options] { return print(*options, table_and_answer); }; });
}

void add_export(CLI::App& app, Action& action) {
  auto options = std::make_shared<ViewOptions>();
  CLI::App* command = app.add_subcommand("export", "A run of a results file in another format");
  add_source(*command, *options);
  command
      ->add_option("--format", options->format,
                   "csv, json, markdown, article; over all models of the file: averages, generation")
      ->check(one_of({"csv", "json", "markdown", "article", "averages", "generation"}))
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "The file to write; default: standard output");
  command->callback([options, &action] {
    action = [options] {
      const auto page = pages().find(options->format);
      return page != pages().end() ? print_page(*options, page->second)
                                   : print(*options, views().at(options->format));
    };
  });
}

}  // namespace touchstone
