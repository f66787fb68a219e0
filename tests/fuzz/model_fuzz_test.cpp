// SPDX-License-Identifier: Apache-2.0
// Spoilt .onnx files: the helper that reads them says what is wrong, in time, and is not killed by a signal.
#include <doctest/doctest.h>

#include <random>

#include "support/places.h"

namespace touchstone {

TEST_CASE("spoilt_onnx_files_are_refused_or_read") {
  std::mt19937 random(6);
  const TemporaryFolder folder;
  const std::string whole = read_text(std::string(TOUCHSTONE_TEST_DATA) + "/bert-export-torchscript.onnx");
  REQUIRE(!whole.empty());
  for (int i = 0; i < 60; ++i) {
    std::string text = whole;
    for (int change = 0; change < 4; ++change) {
      text[random() % text.size()] = static_cast<char>(random());
    }
    if (i % 10 == 0) {
      text.resize(random() % text.size());
    }
    write_text(folder / "spoilt.onnx", text);
    const CommandResult result = run_command(
        {built_bin() + "/touchstone-model", "prepare", folder / "spoilt.onnx", "--home", folder / "home"}, {},
        std::chrono::seconds(60));
    CAPTURE(i);
    CAPTURE(result.err);
    CHECK(result.signal == 0);
    CHECK(!result.timed_out);
  }
}

}  // namespace touchstone
