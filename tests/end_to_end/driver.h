// SPDX-License-Identifier: Apache-2.0
// What the end-to-end tests share: runs of bert-tiny on the synthetic engine, quick and predictable.
#pragma once

#include <string>
#include <vector>

#include "results/views/views.h"
#include "support/places.h"

namespace touchstone {

/// One installation for all tests that do not spoil it: bundles and references are made once.
const PrivateInstallation& shared_installation();

/// `touchstone run bert-tiny` on `engines` at `batches` × 8, with a target that is quickly met unless the
/// flags `more`, which are appended, name another. Results go to `results` in the installation's work folder.
std::vector<std::string> tiny_run(const std::string& engines, const std::string& batches,
                                  const std::string& results, const std::vector<std::string>& more = {});

/// A name for a results file that no other test uses.
std::string fresh_results();

/// The newest run of a results file of the shared installation. Fails the test where there is none.
RunData results_of(const std::string& results);
RunData results_at(const std::string& path);
/// Its cell of a column at a batch; fails the test where there is none.
const CellRecord& cell_of(const RunData& data, const std::string& column, std::int64_t batch = 1);

bool holds(const std::string& text, const std::string& part);

}  // namespace touchstone
