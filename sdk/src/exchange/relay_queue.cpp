// SPDX-License-Identifier: Apache-2.0
#include "exchange/relay_queue.h"

#include <algorithm>
#include <utility>

namespace trivet::detail {
namespace {

// While this process waits for the first phase of an exchange, others call advance().
class Busy {
 public:
  explicit Busy(bool& flag) : flag_(flag) { flag_ = true; }
  ~Busy() { flag_ = false; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  bool& flag_;
};

}  // namespace

void RelayQueue::add(std::shared_ptr<RelayedExchange> exchange) {
  waiting_.push_back(std::move(exchange));
}

bool RelayQueue::has(const RelayedExchange& exchange) const {
  return std::ranges::any_of(waiting_, [&](const auto& one) { return one.get() == &exchange; });
}

void RelayQueue::drop(const RelayedExchange& exchange) {
  std::erase_if(waiting_, [&](const auto& one) { return one.get() == &exchange; });
}

// It stays in the queue in case of an error, which the next call gives again.
void RelayQueue::send_on_first() {
  const std::shared_ptr<RelayedExchange> first = waiting_.front();
  first->send_on();
  waiting_.pop_front();
}

void RelayQueue::advance() {
  if (is_busy_ || waiting_.empty()) return;
  const Busy busy(is_busy_);
  while (!waiting_.empty() && waiting_.front()->has_come()) send_on_first();
}

void RelayQueue::send_on(const RelayedExchange& last) {
  const Busy busy(is_busy_);
  while (has(last)) {
    waiting_.front()->await();
    send_on_first();
  }
}

void RelayQueue::send_on_all() {
  const Busy busy(is_busy_);
  while (!waiting_.empty()) {
    waiting_.front()->await();
    send_on_first();
  }
}

}  // namespace trivet::detail
