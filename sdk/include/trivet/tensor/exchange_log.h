// SPDX-License-Identifier: Apache-2.0
// ExchangeLog: the exchanges of units of weights and gradients that move while a step computes
// (MeshShards::start_gather_parts, start_sum_to_part): how many may be under way, and while
// somebody listens, when each began and ended. A ProcessGroup has one where a run measures its
// steps.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace trivet {

struct UnitExchange {
  enum class Kind { gather, gather_of_stages, sum };
  Kind kind = Kind::gather;
  std::uint64_t bytes = 0;  // of the unit
  // Whether it moves beside a computation; otherwise the process has waited for it at once.
  bool is_beside = false;
  // Seconds of one clock: when it was started, when the process began to wait for it, and when that
  // wait ended. It may itself have ended before.
  double begin = 0, wait = 0, end = 0;
};

class ExchangeLog {
 public:
  // So many of each kind may be under way. Empty: MeshConfig::overlap says it. All processes change
  // it between the same two steps, of which the second plans its memory again. [run-thread]
  void set_overlap(std::int64_t count) { overlap_ = count; }
  std::optional<std::int64_t> overlap() const { return overlap_; }

  // Notes what follows, and forgets what was noted before. [run-thread]
  void listen() {
    noted_.clear();
    is_listening_ = true;
  }
  bool is_listening() const { return is_listening_; }
  // What was noted, in the order of ends. Listens no more. [run-thread]
  std::vector<UnitExchange> take() {
    is_listening_ = false;
    return std::exchange(noted_, {});
  }
  // Unless nobody listens. [run-thread]
  void note(const UnitExchange& exchange) {
    if (is_listening_) noted_.push_back(exchange);
  }

 private:
  std::optional<std::int64_t> overlap_;
  bool is_listening_ = false;
  std::vector<UnitExchange> noted_;
};

}  // namespace trivet
