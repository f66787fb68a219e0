// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "results/comparison.h"
#include "results/published.h"

namespace touchstone {

void add_compare(CLI::App& app, Action& action) {
  struct Options {
    std::string a, b;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("compare", "Two results files, or one and a published CSV, cell by cell");
  command->add_option("A", options->a, "Results (here)")->required();
  command->add_option("B", options->b, "Results or a published CSV (there)")->required();
  command->callback([options, &action] {
    action = [options] {
      const auto a = load_any(options->a);
      if (!a) {
        return report(a.error());
      }
      const auto b = load_any(options->b);
      if (!b) {
        return report(b.error());
      }
      fmt::print("{}", render_comparison(compare_runs(*a, *b), options->a, options->b));
      return static_cast<int>(kDone);
    };
  });
}

}  // namespace touchstone
