// SPDX-License-Identifier: Apache-2.0
// Where the reference lacks an operator, what most engines agree on stands in for it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/input_source.h"
#include "bench/proof.h"

namespace touchstone {

class Consensus {
 public:
  using Outputs = std::vector<Expected>;  // one for each batch that was run

  /// What is said of one column. `truth`: what its later outputs are held against. `error`: its result does
  /// not count.
  struct Opinion {
    std::size_t column = 0;
    std::string verdict;
    double max_error = 0;
    double cosine = 1;
    std::optional<Expected> truth;
    std::optional<Error> error;
  };

  /// The batches to compare by: the first and the one that is timed.
  static std::vector<InputBatch> of_interest(const std::vector<InputBatch>& batches);

  /// `lacking`: what the reference said.
  explicit Consensus(std::string lacking) : lacking_(std::move(lacking)) {}
  void add(std::size_t column, std::string engine, std::string label, const Judging& judging,
           Outputs outputs);

  /// The columns that agree with one another and are of the most engines are right; the others are wrong.
  /// Where two such groups are of as many engines, or several engines all differ, nobody can say and none
  /// counts. A single engine is not proven, and says so.
  std::vector<Opinion> judge() const;

 private:
  struct Member {
    std::size_t column;
    std::string engine;
    std::string label;
    Judging judging;
    Outputs outputs;
  };
  Proof compare(const Member& member, const Member& other) const;
  std::size_t engines_in(const std::vector<std::size_t>& group) const;
  Opinion right(const Member& member, const Member& judge, const std::vector<std::size_t>& group) const;
  Opinion wrong(const Member& member, const std::string& message) const;

  std::string lacking_;
  std::vector<Member> members_;
};

}  // namespace touchstone
