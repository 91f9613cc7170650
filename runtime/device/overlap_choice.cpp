// SPDX-License-Identifier: Apache-2.0
#include "device/overlap_choice.h"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <span>

namespace trivet {
namespace {

using Moved = ExchangeProfile::Exchange;

constexpr double kWorthwhile = 0.01;  // of a step

// A process that computes and waits, and the network that moves its transfers.
class Simulation {
 public:
  Simulation(const ExchangeProfile::Sequence& sequence, std::int64_t overlap)
      : overlap_(static_cast<std::size_t>(overlap)) {
    for (const Moved& one : sequence.exchanges) {
      if (one.kind != UnitExchange::Kind::sum && one.is_beside) pool_of(one).units.push_back(&one);
    }
    const auto last_sum = std::ranges::find_if(
        sequence.exchanges.rbegin(), sequence.exchanges.rend(),
        [](const Moved& one) { return one.kind == UnitExchange::Kind::sum && one.is_beside; });
    for (const Moved& one : sequence.exchanges) {
      now_ += one.compute_seconds;
      if (!one.is_beside) {
        wait_for(start(one));
      } else if (one.kind == UnitExchange::Kind::sum) {
        sum(one);
        // The update needs all sums.
        if (last_sum != sequence.exchanges.rend() && &one == &*last_sum) end_sums(0);
      } else {
        gather(pool_of(one));
      }
    }
    now_ += sequence.rest_seconds;
  }

  ExpectedStep step() const { return {.seconds = now_, .exposed_seconds = exposed_}; }

 private:
  // The gathers of one kind, in their order.
  struct Pool {
    std::vector<const Moved*> units;
    std::size_t needed = 0;   // so many were, so far
    std::deque<double> ends;  // of those that are under way
  };

  Pool& pool_of(const Moved& one) { return pools_[one.kind == UnitExchange::Kind::gather ? 0 : 1]; }

  double start(const Moved& one) {
    network_free_ = std::max(network_free_, now_) + one.seconds;
    return network_free_;
  }

  void wait_for(double end) {
    exposed_ += std::max(0.0, end - now_);
    now_ = std::max(now_, end);
  }

  void gather(Pool& pool) {
    if (pool.ends.empty()) pool.ends.push_back(start(*pool.units[pool.needed]));
    wait_for(pool.ends.front());
    pool.ends.pop_front();
    ++pool.needed;
    while (pool.ends.size() < overlap_ && pool.needed + pool.ends.size() < pool.units.size()) {
      pool.ends.push_back(start(*pool.units[pool.needed + pool.ends.size()]));
    }
  }

  void sum(const Moved& one) {
    if (overlap_ == 0) return wait_for(start(one));
    end_sums(overlap_ - 1);
    sums_.push_back(start(one));
  }

  void end_sums(std::size_t left) {
    while (sums_.size() > left) {
      wait_for(sums_.front());
      sums_.pop_front();
    }
  }

  const std::size_t overlap_;
  std::array<Pool, 2> pools_;
  std::deque<double> sums_;
  double now_ = 0, network_free_ = 0, exposed_ = 0;
};

std::uint64_t sum_of_largest(std::vector<std::uint64_t> bytes, std::int64_t count) {
  std::ranges::sort(bytes, std::ranges::greater());
  std::uint64_t sum = 0;
  for (const std::uint64_t one :
       std::span(bytes).first(std::min(static_cast<std::size_t>(count), bytes.size()))) {
    sum += one;
  }
  return sum;
}

}  // namespace

ExpectedStep expected_step(const ExchangeProfile& profile, std::int64_t overlap) {
  ExpectedStep longest;
  for (const ExchangeProfile::Sequence& sequence : profile.sequences) {
    const ExpectedStep step = Simulation(sequence, overlap).step();
    if (step.seconds > longest.seconds) longest = step;
  }
  return longest;
}

// A gradient waits in its memory, and what others send for its sum has memory of its own.
std::uint64_t bytes_under_way(const ExchangeProfile& profile, std::int64_t overlap) {
  std::uint64_t most = 0;
  for (const ExchangeProfile::Sequence& sequence : profile.sequences) {
    std::array<std::vector<std::uint64_t>, 3> by_kind;
    for (const Moved& one : sequence.exchanges) {
      if (one.is_beside) by_kind.at(static_cast<std::size_t>(one.kind)).push_back(one.bytes);
    }
    const auto bytes = [&](UnitExchange::Kind kind) {
      return sum_of_largest(by_kind.at(static_cast<std::size_t>(kind)), overlap);
    };
    most = std::max(most, bytes(UnitExchange::Kind::gather) +
                              bytes(UnitExchange::Kind::gather_of_stages) +
                              2 * bytes(UnitExchange::Kind::sum));
  }
  return most;
}

OverlapChoice choose_overlap(const ExchangeProfile& profile, std::int64_t most) {
  OverlapChoice choice;
  for (std::int64_t overlap = 0; overlap <= most; ++overlap) {
    choice.expected.push_back(expected_step(profile, overlap));
  }
  const auto best = std::ranges::min_element(choice.expected, {}, &ExpectedStep::exposed_seconds);
  const double enough = best->exposed_seconds + kWorthwhile * best->seconds;
  const auto first = std::ranges::find_if(
      choice.expected, [&](const ExpectedStep& step) { return step.exposed_seconds <= enough; });
  choice.overlap = first - choice.expected.begin();
  return choice;
}

}  // namespace trivet
