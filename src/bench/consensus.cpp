// SPDX-License-Identifier: Apache-2.0
#include "bench/consensus.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace touchstone {

std::vector<InputBatch> Consensus::of_interest(const std::vector<InputBatch>& batches) {
  if (batches.size() < 2) {
    return batches;
  }
  return {batches.front(), batches.back()};
}

void Consensus::add(std::size_t column, std::string engine, std::string label, const Judging& judging,
                    Outputs outputs) {
  members_.push_back({column, std::move(engine), std::move(label), judging, std::move(outputs)});
}

Proof Consensus::compare(const Member& member, const Member& other) const {
  Proof proof;
  for (std::size_t batch = 0; batch < member.outputs.size(); ++batch) {
    const auto compared =
        compare_outputs(member.outputs[batch].tensors, other.outputs[batch], member.judging, proof);
    if (!compared) {
      proof.equal = false;
      proof.message = compared.error().message;
    }
  }
  return proof;
}

std::size_t Consensus::engines_in(const std::vector<std::size_t>& group) const {
  std::set<std::string> engines;
  for (const std::size_t member : group) {
    engines.insert(members_[member].engine);
  }
  return engines.size();
}

Consensus::Opinion Consensus::right(const Member& member, const Member& judge,
                                    const std::vector<std::size_t>& group) const {
  std::vector<std::string> others;
  for (const std::size_t other : group) {
    if (members_[other].column != member.column) {
      others.push_back(members_[other].label);
    }
  }
  const Proof proof = compare(member, judge);
  Opinion opinion;
  opinion.column = member.column;
  opinion.max_error = proof.max_error;
  opinion.cosine = proof.cosine;
  opinion.truth = judge.outputs.back();
  opinion.verdict =
      others.empty() || engines_in(group) < 2
          ? fmt::format("not proven: no other engine ran it, and the reference cannot: {}", lacking_)
          : fmt::format("equal to {}, as the reference cannot say: {}", fmt::join(others, ", "), lacking_);
  return opinion;
}

Consensus::Opinion Consensus::wrong(const Member& member, const std::string& message) const {
  Opinion opinion;
  opinion.column = member.column;
  opinion.verdict = message;
  opinion.error = Error{Reason::kWrongResult, message};
  return opinion;
}

std::vector<Consensus::Opinion> Consensus::judge() const {
  std::vector<std::vector<std::size_t>> groups;  // by member: those that it agrees with, itself too
  std::vector<std::size_t> everyone;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    everyone.push_back(i);
    groups.emplace_back();
    for (std::size_t j = 0; j < members_.size(); ++j) {
      if (i == j || compare(members_[i], members_[j]).equal) {
        groups.back().push_back(j);
      }
    }
  }
  std::size_t best = 0;
  for (std::size_t i = 1; i < groups.size(); ++i) {
    best = engines_in(groups[i]) > engines_in(groups[best]) ? i : best;
  }
  std::vector<Opinion> opinions;
  for (const std::size_t i : everyone) {
    const auto& group = groups[best];
    const bool inside = std::find(group.begin(), group.end(), i) != group.end();
    // Somebody outside whose own group is as large: no side can be told from the other.
    const bool tied = std::any_of(everyone.begin(), everyone.end(), [&](std::size_t other) {
      return std::find(group.begin(), group.end(), other) == group.end() &&
             engines_in(groups[other]) >= engines_in(group);
    });
    if (inside && !tied) {
      opinions.push_back(right(members_[i], members_[best], group));
      continue;
    }
    const std::size_t against =
        inside ? *std::find_if(everyone.begin(), everyone.end(),
                               [&](std::size_t other) {
                                 return std::find(group.begin(), group.end(), other) == group.end();
                               })
               : best;
    const Proof proof = compare(members_[i], members_[against]);
    opinions.push_back(wrong(
        members_[i],
        fmt::format("differs from {}{}: {}; the reference cannot say: {}", members_[against].label,
                    tied ? ", and which of them is right cannot be told" : "", proof.message, lacking_)));
  }
  return opinions;
}

}  // namespace touchstone
