// SPDX-License-Identifier: Apache-2.0
#include "usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"

namespace touchstone {
namespace {

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      flags.push_back("--" + name);
    }
  }
  return flags;
}

std::vector<std::string> subcommands_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* child : command.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(child->get_name());
  }
  return names;
}

// The subcommand that was being read when the mistake was found, with its path: "touchstone run".
std::pair<const CLI::App*, std::string> innermost(const CLI::App& app) {
  const CLI::App* command = &app;
  std::string path = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    path += " " + command->get_name();
  }
  return {command, path};
}

std::string explain_word(const CLI::App& command, const std::string& path, const std::string& word) {
  if (word.starts_with("-")) {
    const std::string flag = word.substr(0, word.find('='));
    return fmt::format("there is no option '{}'{}", flag, did_you_mean(flag, flags_of(command)));
  }
  const auto names = subcommands_of(command);
  if (names.empty()) {
    return fmt::format("'{}' is one argument too many; `{} --help` shows what it takes", word, path);
  }
  return fmt::format("there is no command '{}'{}; known: {}", word, did_you_mean(word, names),
                     fmt::join(names, ", "));
}

}  // namespace

CLI::Validator one_of(std::vector<std::string> words) {
  std::string list = fmt::format("{}", fmt::join(words, "|"));
  return CLI::Validator(
      [words = std::move(words)](std::string& word) {
        return std::find(words.begin(), words.end(), word) != words.end()
                   ? std::string()
                   : fmt::format("'{}' is not known{}; known: {}", word, did_you_mean(word, words),
                                 fmt::join(words, ", "));
      },
      std::move(list));
}

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const auto [command, path] = innermost(app);
  // What was left over explains a missing subcommand better than its absence does.
  const auto rest = app.remaining(true);
  if (!rest.empty()) {
    // An unknown flag's value is left over as well: the flag is the mistake. CLI11 lists the rest backwards
    // at times.
    const auto flag =
        std::find_if(rest.begin(), rest.end(), [](const std::string& word) { return word.starts_with("-"); });
    return path + ": " + explain_word(*command, path, flag != rest.end() ? *flag : rest.front());
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    return fmt::format("{}: {} is not a number that fits", path,
                       std::string(error.what()).substr(std::string("Could not convert: ").size()));
  }
  return fmt::format("{}: {}", path, error.what());
}

}  // namespace touchstone
