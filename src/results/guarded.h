// SPDX-License-Identifier: Apache-2.0
// Where SQLite's exceptions become errors; for the store's own files alone.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "base/result.h"

namespace touchstone {

/// Runs `body`; what the library throws becomes a storage error that names the file.
template <class Body>
auto guarded(const std::string& path, Body body) -> Result<decltype(body())> {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return {};
    } else {
      return body();
    }
  } catch (const SQLite::Exception& error) {
    // Extended codes (SQLITE_IOERR_WRITE, …) keep the primary one in the low byte.
    const int code = error.getErrorCode() & 0xFF;
    const bool full = code == SQLITE_FULL || code == SQLITE_IOERR;
    return fail(Reason::kStorage, "{}: {}{}", path, error.what(),
                full ? "; free some space and go on with --resume" : "");
  } catch (const nlohmann::json::exception& error) {
    return fail(Reason::kStorage, "{}: a field does not parse: {}", path, error.what());
  }
}

}  // namespace touchstone
