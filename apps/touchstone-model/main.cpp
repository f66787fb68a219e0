// SPDX-License-Identifier: Apache-2.0
// Reads, checks and builds models, in a process of its own: a hostile model takes this one down and nothing
// else. Prints one JSON object; an error is one as well.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

#include "prepare.h"
#include "samples.h"

namespace touchstone {
namespace {

using nlohmann::json;

Result<json> run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 1 && arguments[0] == "list") {
    return list_zoo();
  }
  if (arguments.size() == 4 && arguments[0] == "prepare" && arguments[2] == "--home") {
    TOUCHSTONE_ASSIGN(const Bundle bundle, prepare_bundle(arguments[1], arguments[3]));
    json answer = to_json(bundle);
    answer["folder"] = bundle.folder;
    return answer;
  }
  if (arguments.size() == 4 && arguments[0] == "cost" && arguments[2] == "--shapes") {
    return bundle_cost(arguments[1], arguments[3]);
  }
  if (arguments.size() == 5 && arguments[0] == "samples") {
    return make_samples({arguments[1], arguments[2], arguments[3], arguments[4]});
  }
  return fail(Reason::kUsage,
              "usage: touchstone-model list | prepare MODEL --home DIR | cost BUNDLE_FOLDER --shapes JSON | "
              "samples BUNDLE_FOLDER INPUTS EXPECTED OUTPUT");
}

}  // namespace
}  // namespace touchstone

int main(int argc, char** argv) {
  using namespace touchstone;
  Result<json> answer = fail(Reason::kInternal, "nothing was done");
  try {
    answer = run({argv + 1, argv + argc});
  } catch (const std::bad_alloc&) {
    answer = fail(Reason::kOutOfMemory, "the model does not fit into memory");
  } catch (const std::exception& error) {
    answer = fail(Reason::kInvalidModel, "{}", error.what());
  }
  const json printed =
      answer ? *answer
             : json{{"error",
                     {{"reason", to_string(answer.error().reason)}, {"message", answer.error().message}}}};
  const std::string text = printed.dump(-1, ' ', false, json::error_handler_t::replace);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  std::_Exit(answer ? 0 : 1);
}
