// SPDX-License-Identifier: Apache-2.0
// What `touchstone-model list` tells of the zoo.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "support/places.h"

namespace touchstone {

// The public counter is PyTorch's (tools/count-published.py): matrix products and convolutions, a
// multiply-add as two. Ours counts the other operators too, which is what the 1 % is for.
TEST_CASE("operations_are_those_of_a_public_counter_within_one_percent") {
  const CommandResult listed = run_command({built_bin() + "/touchstone-model", "list"}, {});
  REQUIRE(listed.exit_code == 0);
  const auto models = nlohmann::json::parse(listed.out).at("models");
  const auto counted = nlohmann::json::parse(read_text(source_folder() + "/tests/data/flops.json"))
                           .get<std::map<std::string, double>>();
  REQUIRE(!counted.empty());
  for (const auto& [name, expected] : counted) {
    CAPTURE(name);
    const auto found = std::find_if(models.begin(), models.end(),
                                    [&](const auto& model) { return model.at("name") == name; });
    REQUIRE(found != models.end());
    const double ours = found->at("flops");
    CAPTURE(ours);
    CHECK(std::abs(ours / expected - 1) <= 0.01);
  }
}

}  // namespace touchstone
