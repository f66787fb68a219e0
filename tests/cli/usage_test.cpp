// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>

#include "support/places.h"

namespace touchstone {
namespace {

const PrivateInstallation& installation() {
  static const PrivateInstallation kInstallation;
  return kInstallation;
}

CommandResult touchstone(std::vector<std::string> arguments) {
  return installation().touchstone(std::move(arguments));
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A command line that must be refused: exit code 2, nothing on standard output, every part in the message.
void refused(std::vector<std::string> arguments, const std::vector<std::string>& parts) {
  const CommandResult result = touchstone(std::move(arguments));
  CHECK(result.exit_code == 2);
  CHECK(result.out.empty());
  for (const std::string& part : parts) {
    CHECK_MESSAGE(holds(result.err, part), result.err);
  }
  CHECK_MESSAGE(result.err.find('\n') == result.err.size() - 1, result.err);
}

}  // namespace

TEST_CASE("help_shows_the_commands_examples_and_exit_codes") {
  const CommandResult result = touchstone({"--help"});
  CHECK(result.exit_code == 0);
  for (const char* part : {"run", "verify", "engines", "models", "show", "export", "compare",
                           "Examples:", "Exit codes:", "130"}) {
    CHECK(holds(result.out, part));
  }
}

TEST_CASE("every_command_has_help") {
  for (const char* command : {"run", "verify", "engines", "models", "show", "export", "compare"}) {
    CAPTURE(command);
    const CommandResult result = touchstone({command, "--help"});
    CHECK(result.exit_code == 0);
    CHECK(holds(result.out, std::string("Usage: touchstone ") + command));
  }
}

TEST_CASE("version_is_one_line") {
  const CommandResult result = touchstone({"--version"});
  CHECK(result.exit_code == 0);
  CHECK(result.out.starts_with("touchstone "));
  CHECK(result.out.find('\n') == result.out.size() - 1);
}

TEST_CASE("no_command_is_a_usage_error_that_shows_the_help") {
  const CommandResult result = touchstone({});
  CHECK(result.exit_code == 2);
  CHECK(holds(result.err, "Subcommands:"));
}

TEST_CASE("a_misspelt_command_names_the_nearest") {
  refused({"verfy"}, {"'verfy'", "did you mean 'verify'?"});
  refused({"engines", "instal", "openvino"}, {"'instal'", "did you mean 'install'?"});
}

TEST_CASE("a_misspelt_flag_names_the_nearest") {
  refused({"run", "bert-tiny", "--engins", "openvino"}, {"'--engins'", "did you mean '--engines'?"});
  refused({"verify", "bert-tiny", "--bach=1"}, {"'--bach'", "did you mean '--batch'?"});
}

TEST_CASE("a_misspelt_word_names_the_nearest") {
  refused({"run", "bert-tiny", "--shape-mode", "fixed,dynamc"}, {"'dynamc'", "did you mean 'dynamic'?"});
  refused({"run", "--preset", "five-engine"}, {"did you mean 'five-engines'?"});
  refused({"run", "--preset", "five-engines", "--profile", "quik"}, {"did you mean 'quick'?"});
  refused({"export", "x.db", "--format", "cvs"}, {"did you mean 'csv'?"});
}

TEST_CASE("a_misspelt_engine_names_the_nearest_before_any_model_is_read") {
  refused({"run", "no-such-file.onnx", "--engines", "onnxrunime"}, {"did you mean 'onnxruntime'?"});
  refused({"run", "no-such-file.onnx", "--engines", "pytorch:egaer"}, {"did you mean 'eager'?"});
  refused({"run", "no-such-file.onnx", "--engines", "openvino==1.2.3"}, {"1.2.3", "known: "});
}

TEST_CASE("values_that_make_no_sense_are_refused_by_name") {
  refused({"run", "bert-tiny", "--batch", "0"}, {"--batch", "0"});
  refused({"run", "bert-tiny", "--batch", "-4"}, {"--batch", "-4"});
  refused({"run", "bert-tiny", "--seq", "8..4"}, {"--seq", "8..4"});
  refused({"run", "bert-tiny", "--seq", "eight"}, {"--seq", "eight"});
  refused({"run", "bert-tiny", "--dims", "batch"}, {"--dims", "NAME=VALUES"});
  refused({"run", "bert-tiny", "--precision-target", "80%"}, {"--precision-target"});
  refused({"run", "bert-tiny", "--budget", "soon"}, {"--budget", "soon"});
  refused({"run", "bert-tiny", "--memory-limit", "lots"}, {"--memory-limit", "lots"});
  refused({"run", "bert-tiny", "--launches", "0"}, {"--launches"});
  refused({"run", "bert-tiny", "--seed", "x"}, {"--seed"});
  refused({"run", "bert-tiny", "--option", "threads"}, {"--option", "ENGINE.KEY=VALUE"});
}

TEST_CASE("a_flag_that_lists_does_not_swallow_the_model") {
  refused({"run", "--engines", "onnxruntime", "bert-tiny", "another"},
          {"'another'", "one argument too many"});
}

TEST_CASE("run_without_a_model_asks_for_one") {
  refused({"run"}, {"which model?"});
}

TEST_CASE("a_preset_and_a_plan_file_exclude_each_other") {
  refused({"run", "--preset", "five-engines", "--plan", "x.toml"}, {"--plan", "--preset"});
}

TEST_CASE("a_plan_file_tells_the_line_of_a_mistake") {
  const std::string path = installation().work() + "/plan.toml";
  write_text(path, "model = \"bert-tiny\"\n\nengine = [\"openvino\"]\n");
  refused({"run", "--plan", path}, {"plan.toml:3", "did you mean 'engines'?"});
  write_text(path, "model = \"bert-tiny\"\nbatch = [1, 0]\n");
  refused({"run", "--plan", path}, {"plan.toml:2", "batch"});
  write_text(path, "model = \"bert-tiny\nbatch = 1\n");
  refused({"run", "--plan", path}, {"plan.toml:1"});
  refused({"run", "--plan", installation().work() + "/none.toml"}, {"none.toml"});
}

TEST_CASE("an_unknown_model_says_how_to_find_those_that_are_known") {
  refused({"run", "bert-hug", "--batch", "1"}, {"bert-hug", "touchstone models"});
}

TEST_CASE("models_lists_the_zoo") {
  const CommandResult result = touchstone({"models"});
  CHECK(result.exit_code == 0);
  CHECK(holds(result.out, "bert-tiny"));
  CHECK(holds(result.out, "bert-base-chinese"));
}

TEST_CASE("a_missing_helper_program_is_told_not_crashed_on") {
  const PrivateInstallation broken;
  std::filesystem::remove(broken.bin() + "/touchstone-model");
  const CommandResult result = broken.touchstone({"models"});
  CHECK(result.exit_code == 1);
  CHECK_MESSAGE(holds(result.err, "touchstone-model"), result.err);
}

}  // namespace touchstone
