// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <memory>

#include "base/text.h"
#include "bench/helper_process.h"
#include "commands.h"

namespace touchstone {
namespace {

void print_model(const nlohmann::json& model) {
  std::vector<std::string> shape;
  for (const auto& [name, value] : model.at("stated").items()) {
    shape.push_back(value.dump());
  }
  const auto& limit = model.at("max_sequence");
  fmt::print("{:24} {:>11} parameters {:>8}  {:>7.2f} GFLOP at {:6} {}{}{}\n",
             model.at("name").get<std::string>(), model.at("parameters").get<std::uint64_t>(),
             human_bytes(model.at("weight_bytes").get<std::uint64_t>()),
             model.at("flops").get<double>() / 1e9, fmt::format("{}", fmt::join(shape, "×")),
             model.at("description").get<std::string>(),
             limit.is_null() ? "" : fmt::format("; up to {} positions", limit.get<std::int64_t>()),
             model.at("generates").get<bool>() ? "; --generate" : "");
}

}  // namespace

void add_models(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("models", "The models that are known by name");
  auto home = std::make_shared<std::string>();
  command->add_option("--home", *home, "Where SDKs, bundles and references are kept");
  command->callback([home, &action] {
    action = [home] {
      const auto answer = call_model_helper(installation_at(*home), {"list"});
      if (!answer) {
        return report(answer.error());
      }
      for (const auto& model : answer->at("models")) {
        print_model(model);
      }
      fmt::print(
          "Operations at the shape beside them; a multiply-add counts as two. A file or a checkpoint's "
          "folder "
          "will do as well as a name.\n");
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace touchstone
