// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "commands.h"

namespace touchstone {

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

}  // namespace touchstone

int main(int argc, char** argv) {
  using namespace touchstone;
  CLI::App app("The same model on every engine: proven equal, timed honestly, told plainly.", "touchstone");
  app.set_version_flag("--version", "touchstone 0.1.0");
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  touchstone run bert-base-chinese --preset five-engines --profile quick\n"
      "  touchstone run my-model.onnx --engines onnxruntime,openvino --dims batch=1,8 --dims seq=128\n"
      "  touchstone verify my-model.onnx --dims batch=2 --dims seq=16\n"
      "  touchstone compare results.db data/published/bert-chinese-five-engines.csv\n\n"
      "Exit codes: 0 done (cells that are N/A are no failure), 1 failed, 2 wrong usage, 3 verify or compare "
      "found a\n"
      "difference, 130 interrupted (what was done is kept).");
  Action action;
  for (const auto add : {add_run, add_verify, add_engines, add_models, add_show, add_export, add_compare}) {
    add(app, action);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? kDone : kUsageError;
  }
  return action ? action() : kUsageError;
}
