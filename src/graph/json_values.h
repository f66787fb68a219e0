// SPDX-License-Identifier: Apache-2.0
// Values (name, type, shape) as JSON; shared by bundle.json and graph.json.
#pragma once

#include <nlohmann/json.hpp>

#include "graph/types.h"

namespace touchstone {

nlohmann::json value_json(const ValueInfo& value);
/// Throws nlohmann::json::exception where a field is missing or of another kind.
ValueInfo value_from_json(const nlohmann::json& object);

}  // namespace touchstone
