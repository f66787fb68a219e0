// SPDX-License-Identifier: Apache-2.0
#include "bench/tuned.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "bench/environment.h"

namespace touchstone {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kFormat = 1;

fs::path path_of(const Installation& installation, const Bundle& bundle) {
  return fs::path(installation.home) / "tuned" / (bundle.hash + ".json");
}

json to_json(const TunedChoice& choice) {
  const Column& column = choice.column;
  return {{"engine", column.engine.engine},  {"mode", column.engine.mode},
          {"version", choice.version},       {"machine", choice.machine},
          {"shape_mode", column.shape_mode}, {"device", column.device},
          {"precision", column.precision},   {"threads", column.threads},
          {"options", column.options},       {"form", column.form},
          {"setting", choice.setting},       {"ratio", choice.ratio}};
}

TunedChoice choice_from(const json& object) {
  TunedChoice choice;
  choice.column.engine.engine = object.at("engine").get<std::string>();
  choice.column.engine.mode = object.at("mode").get<std::string>();
  choice.version = object.at("version").get<std::string>();
  choice.machine = object.at("machine").get<std::string>();
  choice.column.shape_mode = object.at("shape_mode").get<std::string>();
  choice.column.device = object.at("device").get<std::string>();
  choice.column.precision = object.at("precision").get<std::string>();
  choice.column.threads = object.at("threads").get<int>();
  choice.column.options = object.at("options").get<std::map<std::string, std::string>>();
  choice.column.form = object.at("form").get<std::string>();
  choice.column.variant = "tuned";
  choice.setting = object.at("setting").get<std::string>();
  choice.ratio = object.at("ratio").get<double>();
  return choice;
}

// Whether two choices are for the same engine under the same conditions.
bool same_place(const TunedChoice& a, const TunedChoice& b) {
  return a.column.engine.engine == b.column.engine.engine && a.column.engine.mode == b.column.engine.mode &&
         a.version == b.version && a.machine == b.machine && a.column.shape_mode == b.column.shape_mode &&
         a.column.device == b.column.device && a.column.precision == b.column.precision;
}

}  // namespace

std::string machine_words(const std::vector<int>& cpus) {
  auto facts = describe_machine(cpus);
  return fmt::format("{}, {} CPU{}", facts["cpu.model"], cpus.size(), cpus.size() == 1 ? "" : "s");
}

Result<std::vector<TunedChoice>> read_tuned(const Installation& installation, const Bundle& bundle) {
  const fs::path path = path_of(installation, bundle);
  std::error_code error;
  if (!fs::exists(path, error)) {
    return std::vector<TunedChoice>();
  }
  TOUCHSTONE_ASSIGN(const std::string text, read_text_file(path.string()));
  const json object = json::parse(text, nullptr, false);
  std::vector<TunedChoice> choices;
  try {
    if (object.at("format").get<int>() != kFormat) {
      return choices;
    }
    for (const json& entry : object.at("choices")) {
      choices.push_back(choice_from(entry));
    }
  } catch (const json::exception&) {
    return fail(Reason::kStorage, "{}: is no file of `touchstone tune`; delete it and tune again",
                path.string());
  }
  return choices;
}

Result<void> keep_tuned(const Installation& installation, const Bundle& bundle, const TunedChoice& choice) {
  TOUCHSTONE_ASSIGN(auto choices, read_tuned(installation, bundle));
  std::erase_if(choices, [&](const TunedChoice& other) { return same_place(other, choice); });
  choices.push_back(choice);
  json list = json::array();
  for (const TunedChoice& kept : choices) {
    list.push_back(to_json(kept));
  }
  const fs::path path = path_of(installation, bundle);
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  const std::string partial = fmt::format("{}.partial-{}", path.string(), getpid());
  TOUCHSTONE_TRY(write_text_file(
      partial, json{{"format", kFormat}, {"model", bundle.name}, {"choices", std::move(list)}}.dump(1)));
  fs::rename(partial, path, error);
  if (error) {
    return fail(Reason::kStorage, "{}: cannot be written: {}", path.string(), error.message());
  }
  return {};
}

Result<std::vector<Column>> with_tuned(const std::vector<Column>& columns, const Installation& installation,
                                       const std::vector<EngineManifest>& catalogue, const Bundle& bundle,
                                       const std::vector<int>& cpus, std::vector<std::string>& notes) {
  TOUCHSTONE_ASSIGN(const auto choices, read_tuned(installation, bundle));
  const std::string machine = machine_words(cpus);
  std::vector<Column> all;
  for (const Column& column : columns) {
    all.push_back(column);
    const auto engine = resolve_engine(catalogue, {installation.home, installation.bin}, column.engine.engine,
                                       column.engine.version, column.engine.mode, column.device,
                                       static_cast<int>(cpus.size()));
    if (!engine) {
      continue;  // the column itself will say so
    }
    TunedChoice wanted;
    wanted.column = column;
    wanted.column.engine.mode = engine->mode;
    wanted.version = engine->version;
    wanted.machine = machine;
    const auto found = std::find_if(choices.begin(), choices.end(),
                                    [&](const TunedChoice& other) { return same_place(other, wanted); });
    const std::string label = column_label(column, columns);
    if (found == choices.end()) {
      notes.push_back(
          fmt::format("{}: not tuned for this model on this machine; `touchstone tune` does that", label));
    } else if (found->setting.empty()) {
      notes.push_back(fmt::format("{}: tuning found nothing better than its defaults", label));
    } else {
      Column tuned = found->column;
      tuned.engine = column.engine;
      if (std::find(all.begin(), all.end(), tuned) == all.end()) {
        notes.push_back(fmt::format("{} tuned: {}", label, found->setting));
        all.push_back(std::move(tuned));
      }
    }
  }
  return all;
}

}  // namespace touchstone
