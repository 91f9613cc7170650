// SPDX-License-Identifier: Apache-2.0
// Exchanges of two phases, of which the second sends on what the first has brought.
//
// A second phase starts when the first has ended, in the order of the calls that have started the
// exchanges: so each process makes the calls of the second group in one order, and messages match,
// whenever its first phases end.
#pragma once

#include <deque>
#include <memory>

#include "trivet/backend/process_group.h"

namespace trivet::detail {

class RelayedExchange {
 public:
  RelayedExchange() = default;
  virtual ~RelayedExchange() = default;
  RelayedExchange(const RelayedExchange&) = delete;
  RelayedExchange& operator=(const RelayedExchange&) = delete;

  // Of the first phase: whether it has ended, and its end.
  virtual bool has_come() = 0;
  virtual void await() = 0;
  // Starts the second phase.
  virtual void send_on() = 0;
};

class RelayQueue final : public Relay {
 public:
  // Of an exchange whose first phase is under way.
  void add(std::shared_ptr<RelayedExchange> exchange);
  // Starts the second phase of those whose first has ended, without waiting.
  void advance() override;
  // That of this exchange, and of all before it. Waits for their first phases.
  void send_on(const RelayedExchange& last);
  // That of all.
  void send_on_all();
  // Of an exchange that has failed: its memory may be gone.
  void drop(const RelayedExchange& exchange);

 private:
  void send_on_first();
  bool has(const RelayedExchange& exchange) const;

  std::deque<std::shared_ptr<RelayedExchange>> waiting_;
  bool is_busy_ = false;  // with the first of them
};

// Sends on what `exchange` has brought, and gives it. It leaves the queue in case of an error.
template <class Exchange>
void finish_now(RelayQueue& queue, const std::shared_ptr<Exchange>& exchange) {
  try {
    queue.add(exchange);
    queue.send_on(*exchange);
    exchange->finish();
  } catch (...) {
    queue.drop(*exchange);
    throw;
  }
}

}  // namespace trivet::detail
