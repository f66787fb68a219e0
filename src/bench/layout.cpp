// SPDX-License-Identifier: Apache-2.0
#include "bench/layout.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/text.h"

namespace touchstone {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// The dimension of this very name, or the first one whose name contains one of the words.
std::optional<std::string> named_like(const Bundle& bundle, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    for (const std::string& dimension : bundle.dimensions) {
      if (lower(dimension).find(word) != std::string::npos) {
        return dimension;
      }
    }
  }
  return std::nullopt;
}

const EngineManifest* find(const std::vector<EngineManifest>& catalogue, const std::string& name) {
  const auto found =
      std::find_if(catalogue.begin(), catalogue.end(), [&](const auto& m) { return m.name == name; });
  return found == catalogue.end() ? nullptr : &*found;
}

bool contains(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Result<void> check_words(const std::vector<std::string>& words, const std::vector<std::string>& known,
                         std::string_view axis) {
  for (const std::string& word : words) {
    if (!contains(known, word)) {
      return fail(Reason::kUsage, "{}: '{}' is not known{}; known: {}", axis, word, did_you_mean(word, known),
                  fmt::join(known, ", "));
    }
  }
  return {};
}

Result<void> check_device(const std::string& device) {
  const bool cuda = device.starts_with("cuda:") && device.size() > 5 &&
                    device.find_first_not_of("0123456789", 5) == std::string::npos;
  if (device != "cpu" && !cuda) {
    return fail(Reason::kUsage, "--device: '{}' is not a device; known: cpu, cuda:N", device);
  }
  return {};
}

// Axis name -> the model's dimension.
Result<std::string> dimension_of(const std::string& axis, const Bundle& bundle) {
  if (contains(bundle.dimensions, axis)) {
    return axis;
  }
  const auto alias = axis == "batch" ? batch_dimension(bundle)
                     : axis == "seq" ? sequence_dimension(bundle)
                                     : std::nullopt;
  if (alias) {
    return *alias;
  }
  if (bundle.dimensions.empty()) {
    return fail(Reason::kUsage, "the model's shapes are all fixed: it has no dimension '{}' to set", axis);
  }
  return fail(Reason::kUsage, "the model has no dimension '{}'{}; it has: {}", axis,
              did_you_mean(axis, bundle.dimensions), fmt::join(bundle.dimensions, ", "));
}

using Axes = std::map<std::string, std::vector<std::int64_t>>;

Result<std::vector<DimensionValues>> product(const Axes& axes, const Bundle& bundle) {
  std::vector<std::string> missing;
  for (const std::string& dimension : bundle.dimensions) {
    if (!axes.contains(dimension)) {
      missing.push_back(dimension);
    }
  }
  if (!missing.empty()) {
    std::string flags;
    for (const std::string& dimension : missing) {
      flags += fmt::format(" --dims {}=…", dimension);
    }
    return fail(Reason::kUsage, "the model's dimension{} {} need{} a value; add{}",
                missing.size() == 1 ? "" : "s", fmt::join(missing, ", "), missing.size() == 1 ? "s" : "",
                flags);
  }
  std::vector<DimensionValues> shapes = {{}};
  for (const auto& [dimension, values] : axes) {
    std::vector<DimensionValues> wider;
    for (const DimensionValues& shape : shapes) {
      for (const std::int64_t value : std::set<std::int64_t>(values.begin(), values.end())) {
        wider.push_back(shape);
        wider.back()[dimension] = value;
      }
    }
    shapes = std::move(wider);
  }
  return shapes;
}

// The axes as one set of inputs leaves them; nothing where they ask for another value than the set has.
std::optional<Axes> narrowed(Axes axes, const UserInputSet& set, const Bundle& bundle,
                             std::string& objection) {
  for (const auto& [dimension, value] : set.dimensions) {
    auto& values = axes[dimension];
    const bool counts_rows = set.rows > 0 && bundle.row_independent && dimension == bundle.dimensions.front();
    if (!values.empty() && counts_rows) {
      continue;
    }
    if (!values.empty() && std::find(values.begin(), values.end(), value) == values.end()) {
      objection = fmt::format("'{}' is {} in {}", dimension, value, set.name);
      return std::nullopt;
    }
    values = {value};
  }
  return axes;
}

Result<std::vector<DimensionValues>> shapes_of(const UserInputs& user, const Axes& axes,
                                               const Bundle& bundle) {
  std::set<DimensionValues> shapes;
  std::string objection;
  for (const UserInputSet& set : user.sets()) {
    const auto left = narrowed(axes, set, bundle, objection);
    if (left) {
      TOUCHSTONE_ASSIGN(const auto own, product(*left, bundle));
      shapes.insert(own.begin(), own.end());
    }
  }
  if (shapes.empty()) {
    return fail(Reason::kUsage, "the inputs have no set of the dimensions asked for: {}", objection);
  }
  return std::vector<DimensionValues>(shapes.begin(), shapes.end());
}

}  // namespace

std::optional<std::string> batch_dimension(const Bundle& bundle) {
  if (auto named = named_like(bundle, {"batch"})) {
    return named;
  }
  return bundle.row_independent && !bundle.dimensions.empty() ? std::optional(bundle.dimensions.front())
                                                              : std::nullopt;
}

std::optional<std::string> sequence_dimension(const Bundle& bundle) {
  return named_like(bundle, {"seq", "length", "token", "past"});
}

double shape_size(const DimensionValues& shape) {
  double size = 1;
  for (const auto& [name, value] : shape) {
    size *= static_cast<double>(value);
  }
  return size;
}

Result<std::vector<Column>> layout_columns(const Plan& plan, const std::vector<EngineManifest>& catalogue) {
  TOUCHSTONE_TRY(check_words(plan.shape_modes, {"dynamic", "fixed"}, "--shape-mode"));
  TOUCHSTONE_TRY(check_words(plan.precisions, {"f32", "bf16", "f16", "int8"}, "--precision"));
  for (const std::string& device : plan.devices) {
    TOUCHSTONE_TRY(check_device(device));
  }
  std::vector<Column> columns = plan.columns;
  for (const EngineSelector& engine : plan.engines) {
    const EngineManifest* manifest = find(catalogue, engine.engine);
    bool any = false;
    for (const std::string& shape_mode : plan.shape_modes) {
      if (manifest != nullptr && !contains(manifest->shape_modes, shape_mode)) {
        continue;
      }
      any = true;
      for (const std::string& device : plan.devices) {
        for (const std::string& precision : plan.precisions) {
          for (const int threads : plan.threads) {
            columns.push_back({engine, shape_mode, device, precision, threads, {}});
          }
        }
      }
    }
    if (!any) {
      return fail(Reason::kUsage, "{} knows no shape mode {}; it has {}", engine.engine,
                  fmt::join(plan.shape_modes, ", "), fmt::join(manifest->shape_modes, ", "));
    }
  }
  for (Column& column : columns) {
    if (const auto options = plan.options.find(column.engine.engine); options != plan.options.end()) {
      column.options = options->second;
    }
  }
  if (columns.empty()) {
    return fail(Reason::kUsage,
                "no engine was named; --engines takes some of those that `touchstone engines` lists");
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (std::find(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(i), columns[i]) !=
        columns.begin() + static_cast<std::ptrdiff_t>(i)) {
      return fail(Reason::kUsage, "{} stands twice in the plan", column_label(columns[i], columns));
    }
  }
  return columns;
}

Result<std::vector<DimensionValues>> layout_shapes(const Plan& plan, const Bundle& bundle,
                                                   const UserInputs* user) {
  Axes axes;
  for (const auto& [axis, values] : plan.dimensions) {
    TOUCHSTONE_ASSIGN(const std::string dimension, dimension_of(axis, bundle));
    if (axes.contains(dimension)) {
      return fail(Reason::kUsage, "dimension '{}' is given twice (as '{}' too)", dimension, axis);
    }
    axes[dimension] = values;
  }
  std::vector<DimensionValues> shapes;
  if (user == nullptr) {
    TOUCHSTONE_ASSIGN(shapes, product(axes, bundle));
  } else {
    TOUCHSTONE_ASSIGN(shapes, shapes_of(*user, axes, bundle));
  }
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const auto& a, const auto& b) { return shape_size(a) < shape_size(b); });
  return shapes;
}

std::optional<DimensionValues> another_length(const std::vector<DimensionValues>& shapes,
                                              const Bundle& bundle, const DimensionValues& shape) {
  const auto batch = batch_dimension(bundle);
  DimensionValues other = shape;
  bool varies = false;
  bool any = false;
  for (auto& [name, value] : other) {
    if (name == batch) {
      continue;
    }
    any = true;
    varies =
        varies || std::any_of(shapes.begin(), shapes.end(),
                              [&, &n = name, v = value](const DimensionValues& s) { return s.at(n) != v; });
    value = value >= 2 ? value / 2 : value * 2;
  }
  return any && !varies ? std::optional(other) : std::nullopt;
}

}  // namespace touchstone
