// SPDX-License-Identifier: Apache-2.0
// Every family of transformers, from the checkpoints of tests/data, equal on every engine there is.
#include <doctest/doctest.h>

#include <filesystem>

#include "end_to_end/driver.h"

namespace touchstone {

TEST_CASE("checkpoints_of_every_family_are_equal_on_every_engine") {
  std::string engines = "reference";
#ifdef HAVE_onnxruntime
  engines += ",onnxruntime";
#endif
#ifdef HAVE_openvino
  engines += ",openvino";
#endif
#ifdef HAVE_pytorch
  engines += ",pytorch:eager,pytorch:torchscript";
#endif
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(TOUCHSTONE_TEST_DATA) + "/checkpoints")) {
    std::vector<std::string> arguments = {"verify", entry.path().string(), "--engines", engines, "--batch",
                                          "2"};
    if (entry.path().filename() != "vit") {
      arguments.insert(arguments.end(), {"--seq", "12"});
    }
    const CommandResult result = shared_installation().touchstone(arguments);
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.exit_code == 0);
    CHECK(!holds(result.out, "N/A"));
  }
}

}  // namespace touchstone
