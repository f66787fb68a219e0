// SPDX-License-Identifier: Apache-2.0
// One engine's worker, given case after case through the protocol.
#pragma once

#include <memory>
#include <string>

#include "bench/worker_client.h"
#include "cases.h"
#include "engines/catalogue.h"

namespace touchstone {

enum class Outcome {
  kPassed,
  kUnsupported,  // the engine said so
  kRefused,      // another error than that
  kWrong,
  kCrashed,  // or hung, or wrote what is not the protocol
};

struct CaseResult {
  Outcome outcome = Outcome::kPassed;
  std::string message;
};

class ConformanceColumn {
 public:
  /// `folder` is for the models and the worker's log.
  ConformanceColumn(ResolvedEngine engine, std::string label, std::string folder);
  const std::string& label() const { return label_; }
  /// Runs one case; a dead worker is started again with the next one.
  CaseResult run(const Case& tried);

 private:
  Result<void> try_case(const Case& tried, CaseResult& result);
  Result<std::string> write_model(const Case& tried) const;
  Result<void> judge(const Message& reply, const Case& tried, CaseResult& result) const;

  ResolvedEngine engine_;
  std::string label_, folder_;
  MemoryWatch watch_;
  std::unique_ptr<WorkerClient> worker_;
};

}  // namespace touchstone
