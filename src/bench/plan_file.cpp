// SPDX-License-Identifier: Apache-2.0
// Plan files: the axes of a plan in TOML, by the names of the command line's flags.
#include <toml++/toml.h>

#include <functional>

#include "base/text.h"
#include "bench/plan.h"

namespace touchstone {
namespace {

struct Place {
  const std::string& file;
  const toml::node& node;
};

tl::unexpected<Error> wrong(const Place& place, std::string_view key, std::string_view expected) {
  return fail(Reason::kUsage, "{}:{}: '{}' should be {}", place.file, place.node.source().begin.line, key,
              expected);
}

Result<std::string> text_of(const Place& place, std::string_view key) {
  if (const auto text = place.node.value_exact<std::string>()) {
    return *text;
  }
  return wrong(place, key, "text in quotation marks");
}

// A list of texts, or one text with commas.
Result<std::vector<std::string>> texts_of(const Place& place, std::string_view key) {
  std::vector<std::string> texts;
  if (const toml::array* array = place.node.as_array()) {
    for (const toml::node& element : *array) {
      TOUCHSTONE_ASSIGN(std::string text, text_of({place.file, element}, key));
      texts.push_back(std::move(text));
    }
    return texts;
  }
  TOUCHSTONE_ASSIGN(std::string text, text_of(place, key));
  texts.push_back(std::move(text));
  return texts;
}

// A whole number, a list of them, or text as the flag takes it ("1..8").
Result<std::vector<std::int64_t>> axis_of(const Place& place, std::string_view key) {
  if (const auto text = place.node.value_exact<std::string>()) {
    return parse_axis(key, *text);
  }
  std::vector<std::int64_t> values;
  const auto add = [&](const toml::node& node) -> Result<void> {
    const auto value = node.value_exact<std::int64_t>();
    if (!value || *value < 1) {
      return wrong({place.file, node}, key, "whole numbers of 1 or more, such as [1, 2, 4] or \"1..8\"");
    }
    values.push_back(*value);
    return {};
  };
  if (const toml::array* array = place.node.as_array()) {
    for (const toml::node& element : *array) {
      TOUCHSTONE_TRY(add(element));
    }
    return values;
  }
  TOUCHSTONE_TRY(add(place.node));
  return values;
}

using Reader = std::function<Result<void>(const Place&, Plan&)>;

Result<void> read_dimensions(const Place& place, Plan& plan) {
  const toml::table* table = place.node.as_table();
  if (table == nullptr) {
    return wrong(place, "dims", "a table of dimension names and values");
  }
  for (const auto& [name, node] : *table) {
    TOUCHSTONE_ASSIGN(plan.dimensions[std::string(name.str())], axis_of({place.file, node}, name.str()));
  }
  return {};
}

Result<void> read_options(const Place& place, Plan& plan) {
  const toml::table* table = place.node.as_table();
  if (table == nullptr) {
    return wrong(place, "options", "a table of engines, each a table of options");
  }
  for (const auto& [engine, node] : *table) {
    const toml::table* options = node.as_table();
    if (options == nullptr) {
      return wrong({place.file, node}, engine.str(), "a table of options");
    }
    for (const auto& [key, value] : *options) {
      TOUCHSTONE_ASSIGN(plan.options[std::string(engine.str())][std::string(key.str())],
                        text_of({place.file, value}, key.str()));
    }
  }
  return {};
}

Result<void> read_engines(const Place& place, Plan& plan) {
  TOUCHSTONE_ASSIGN(const auto names, texts_of(place, "engines"));
  for (const std::string& name : names) {
    TOUCHSTONE_ASSIGN(EngineSelector selector, parse_engine_selector(name));
    plan.engines.push_back(std::move(selector));
  }
  return {};
}

Result<void> read_threads(const Place& place, Plan& plan) {
  TOUCHSTONE_ASSIGN(const auto values, axis_of(place, "threads"));
  plan.threads.assign(values.begin(), values.end());
  return {};
}

Result<void> read_seed(const Place& place, Plan& plan) {
  const auto value = place.node.value_exact<std::int64_t>();
  if (!value || *value < 0) {
    return wrong(place, "seed", "a whole number");
  }
  plan.seed = static_cast<std::uint64_t>(*value);
  return {};
}

Result<void> read_items(const Place& place, Plan& plan) {
  const auto value = place.node.value_exact<std::int64_t>();
  if (!value || *value < 1) {
    return wrong(place, "items", "a whole number of 1 or more");
  }
  plan.items = *value;
  return {};
}

Result<void> read_launches(const Place& place, Plan& plan) {
  const auto value = place.node.value_exact<std::int64_t>();
  if (!value || *value < 1 || *value > 100) {
    return wrong(place, "launches", "a whole number from 1 to 100");
  }
  plan.launches = static_cast<int>(*value);
  return {};
}

// A text or a list of them, each given to `add`.
Reader each_text(std::string key, Result<void> (*add)(Plan&, std::string_view)) {
  return [=](const Place& place, Plan& plan) -> Result<void> {
    TOUCHSTONE_ASSIGN(const auto texts, texts_of(place, key));
    for (const std::string& text : texts) {
      TOUCHSTONE_TRY(add(plan, text));
    }
    return {};
  };
}

template <class T, class Parse>
Reader text_field(std::string key, T Plan::*member, Parse parse) {
  return [=](const Place& place, Plan& plan) -> Result<void> {
    TOUCHSTONE_ASSIGN(const std::string text, text_of(place, key));
    TOUCHSTONE_ASSIGN(plan.*member, parse(key, text));
    return {};
  };
}

Reader switch_field(std::string key, bool Plan::*member) {
  return [=](const Place& place, Plan& plan) -> Result<void> {
    const auto value = place.node.value_exact<bool>();
    if (!value) {
      return wrong(place, key, "true or false");
    }
    plan.*member = *value;
    return {};
  };
}

Reader list_field(std::string key, std::vector<std::string> Plan::*member) {
  return [=](const Place& place, Plan& plan) -> Result<void> {
    TOUCHSTONE_ASSIGN(plan.*member, texts_of(place, key));
    return {};
  };
}

Reader dimension_field(std::string key) {
  return [=](const Place& place, Plan& plan) -> Result<void> {
    TOUCHSTONE_ASSIGN(plan.dimensions[key], axis_of(place, key));
    return {};
  };
}

const std::map<std::string, Reader>& readers() {
  const auto plain = [](std::string_view, const std::string& text) -> Result<std::string> { return text; };
  static const std::map<std::string, Reader> kReaders = {
      {"baseline", text_field("baseline", &Plan::baseline, plain)},
      {"engines", read_engines},
      {"shape-mode", list_field("shape-mode", &Plan::shape_modes)},
      {"device", list_field("device", &Plan::devices)},
      {"precision", list_field("precision", &Plan::precisions)},
      {"threads", read_threads},
      {"batch", dimension_field("batch")},
      {"seq", dimension_field("seq")},
      {"dims", read_dimensions},
      {"options", read_options},
      {"inputs", text_field("inputs", &Plan::inputs, plain)},
      {"expected", text_field("expected", &Plan::expected, plain)},
      {"tolerance", each_text("tolerance", add_tolerance)},
      {"judge", each_text("judge", add_judge)},
      {"seed", read_seed},
      {"generate", switch_field("generate", &Plan::generate)},
      {"tuned", switch_field("tuned", &Plan::tuned)},
      {"items", read_items},
      {"launches", read_launches},
      {"precision-target", text_field("precision-target", &Plan::precision_target, parse_fraction)},
      {"budget", text_field("budget", &Plan::budget, parse_duration)},
      {"timeout", text_field("timeout", &Plan::cell_timeout, parse_duration)},
      {"memory-limit", text_field("memory-limit", &Plan::memory_limit, parse_bytes)},
  };
  return kReaders;
}

}  // namespace

Result<std::vector<Plan>> read_plans(const std::string& path) {
  toml::table table;
  try {
    table = toml::parse_file(path);
  } catch (const toml::parse_error& error) {
    return fail(Reason::kUsage, "{}:{}: {}", path, error.source().begin.line, error.description());
  }
  Plan plan;
  std::vector<std::string> models = {""};  // the command line may still name one
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (name == "model") {
      TOUCHSTONE_ASSIGN(models, texts_of({path, node}, name));
      continue;
    }
    const auto reader = readers().find(name);
    if (reader == readers().end()) {
      std::vector<std::string> known = {"model"};
      for (const auto& entry : readers()) {
        known.push_back(entry.first);
      }
      return fail(Reason::kUsage, "{}:{}: unknown key '{}'{}", path, node.source().begin.line, name,
                  did_you_mean(name, known));
    }
    TOUCHSTONE_TRY(reader->second({path, node}, plan));
  }
  std::vector<Plan> plans;
  for (std::string& model : models) {
    plan.model = std::move(model);
    plans.push_back(plan);
  }
  return plans;
}

}  // namespace touchstone
