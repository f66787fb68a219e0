// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "commands.h"
#include "usage.h"

namespace touchstone {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  touchstone run bert-base-chinese --preset five-engines --profile quick\n"
    "  touchstone run my-model.onnx --engines onnxruntime,openvino --dims batch=1,8 --dims seq=128\n"
    "  touchstone verify my-model.onnx --dims batch=2 --dims seq=16\n"
    "  touchstone compare results.db data/published/bert-chinese-five-engines.csv\n\n"
    "Exit codes: 0 done (cells that are N/A are no failure), 1 failed, 2 wrong usage, 3 verify found a\n"
    "difference, 130 interrupted (what was done is kept). docs/exit-codes.md says more.";

int wrong_usage(const CLI::App& app, const CLI::ParseError& error) {
  std::fprintf(stderr, "%s\n", explain(app, error).c_str());
  return kUsageError;
}

int dispatch(int argc, char** argv) {
  CLI::App app("The same model on every engine: proven equal, timed honestly, told plainly.", "touchstone");
  app.set_version_flag("--version", "touchstone " TOUCHSTONE_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  Action action;
  for (const auto add :
       {add_run, add_verify, add_tune, add_engines, add_models, add_show, add_export, add_compare}) {
    add(app, action);
  }
  if (argc < 2) {
    std::fputs(app.help().c_str(), stderr);
    return kUsageError;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return wrong_usage(app, error);
  }
  return action ? action() : static_cast<int>(kUsageError);
}

}  // namespace

int report(const Error& error) {
  std::fprintf(stderr, "touchstone: %s\n", error.message.c_str());
  switch (error.reason) {
    case Reason::kUsage:
      return kUsageError;
    case Reason::kInterrupted:
      return kInterruptedExit;
    default:
      return kFailed;
  }
}

Installation installation_at(const std::string& home) {
  Installation installation = find_installation();
  if (!home.empty()) {
    installation.home = home;
  }
  return installation;
}

}  // namespace touchstone

int main(int argc, char** argv) {
  return touchstone::dispatch(argc, argv);
}
