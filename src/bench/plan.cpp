// SPDX-License-Identifier: Apache-2.0
#include "bench/plan.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace touchstone {
namespace {

std::string selector_label(const EngineSelector& selector, bool with_version) {
  std::string label = selector.engine;
  if (with_version && !selector.version.empty()) {
    label += "==" + selector.version;
  }
  if (!selector.mode.empty() && selector.mode != "default") {
    label += ":" + selector.mode;
  }
  return label;
}

// True where two columns differ in what `member` gives; the label then has to say it.
template <class Member>
bool varies(const std::vector<Column>& among, Member member) {
  return std::any_of(among.begin(), among.end(),
                     [&](const Column& other) { return member(other) != member(among.front()); });
}

bool varies_within_engine(const Column& column, const std::vector<Column>& among,
                          std::string Column::*member) {
  return std::any_of(among.begin(), among.end(), [&](const Column& other) {
    return other.engine.engine == column.engine.engine && other.*member != column.*member;
  });
}

}  // namespace

Result<EngineSelector> parse_engine_selector(std::string_view text) {
  EngineSelector selector;
  std::string_view rest = text;
  const std::size_t equals = rest.find("==");
  const std::size_t colon = rest.rfind(':');
  if (colon != std::string_view::npos) {
    selector.mode = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
  }
  if (equals != std::string_view::npos && equals < rest.size()) {
    selector.version = rest.substr(equals + 2);
    rest = rest.substr(0, equals);
  }
  selector.engine = rest;
  const bool dangling = (colon != std::string_view::npos && selector.mode.empty()) ||
                        (equals != std::string_view::npos && selector.version.empty());
  if (selector.engine.empty() || dangling || selector.engine.find('=') != std::string::npos) {
    return fail(Reason::kUsage,
                "'{}' is not an engine; expected NAME[==VERSION][:MODE], such as pytorch:eager", text);
  }
  return selector;
}

std::string column_label(const Column& column, const std::vector<Column>& among) {
  const bool with_version = std::any_of(among.begin(), among.end(), [&](const Column& other) {
    return other.engine.engine == column.engine.engine && other.engine.version != column.engine.version;
  });
  std::string label = selector_label(column.engine, with_version);
  if (column.shape_mode == "fixed" || varies_within_engine(column, among, &Column::shape_mode)) {
    label += " " + column.shape_mode;
  }
  if (varies(among, [](const Column& c) { return c.precision; }) || column.precision != "f32") {
    label += " " + column.precision;
  }
  if (varies(among, [](const Column& c) { return c.device; }) || column.device != "cpu") {
    label += " " + column.device;
  }
  if (!column.variant.empty()) {
    return label + " " + column.variant;
  }
  std::vector<Column> plain;
  std::copy_if(among.begin(), among.end(), std::back_inserter(plain),
               [](const Column& c) { return c.variant.empty(); });
  if (!plain.empty() && varies(plain, [](const Column& c) { return c.threads; })) {
    label += fmt::format(" {}t", column.threads);
  }
  return label;
}

std::string canonical_plan(const Plan& plan) {
  nlohmann::json json;
  json["model"] = plan.model;
  json["target"] = plan.precision_target;
  json["seed"] = plan.seed;
  json["launches"] = plan.launches;
  json["baseline"] = plan.baseline;
  json["memory_limit"] = plan.memory_limit;
  json["dimensions"] = plan.dimensions;
  if (plan.items) {
    json["items"] = *plan.items;
  }
  if (!plan.inputs.empty()) {
    json["inputs"] = {plan.inputs, plan.expected};
  }
  if (!plan.tolerances.empty() || !plan.judges.empty()) {
    json["judging"] = {plan.tolerances, plan.judges};
  }
  json["options"] = plan.options;
  const auto selector = [](const EngineSelector& engine) { return selector_label(engine, true); };
  json["engines"] = nlohmann::json::array();
  for (const EngineSelector& engine : plan.engines) {
    json["engines"].push_back(selector(engine));
  }
  json["axes"] = {plan.shape_modes, plan.devices, plan.precisions};
  json["threads"] = plan.threads;
  json["columns"] = nlohmann::json::array();
  for (const Column& column : plan.columns) {
    json["columns"].push_back({selector(column.engine), column.shape_mode, column.device, column.precision,
                               column.threads, column.options});
    if (!column.form.empty() || !column.variant.empty()) {
      json["columns"].back().push_back({column.form, column.variant});
    }
  }
  return json.dump();
}

}  // namespace touchstone
