// SPDX-License-Identifier: Apache-2.0
// UnitTransfer: an exchange of a unit of weights or gradients under way, with its tensors; and what
// a profile and an ExchangeLog get of it.
#pragma once

#include <memory>
#include <vector>

#include "trivet/backend/process_group.h"
#include "trivet/tensor.h"
#include "trivet/tensor/exchange_log.h"

namespace trivet::detail {

// Notes when an exchange began and ended, where somebody listens.
class WatchedExchange {
 public:
  // Begins now. `log` may be null. [run-thread]
  WatchedExchange(ExchangeLog* log, UnitExchange::Kind kind, const Tensor& unit);
  // From here on the process waits. [run-thread]
  void begin_wait();
  void end();

 private:
  ExchangeLog* log_;
  UnitExchange exchange_;
  bool is_watched_ = false;
};

class UnitTransfer final : public Transfer {
 public:
  // A null `transfer` has ended. The tensors live as long as it is under way.
  UnitTransfer(std::unique_ptr<Transfer> transfer, std::vector<Tensor> tensors,
               const WatchedExchange& watched);
  // Of a transfer that nobody waited for, the tensors live to the end of the process.
  ~UnitTransfer() override;
  UnitTransfer(const UnitTransfer&) = delete;
  UnitTransfer& operator=(const UnitTransfer&) = delete;

  void wait() override;

 private:
  std::vector<Tensor> tensors_;
  std::unique_ptr<Transfer> transfer_;
  WatchedExchange watched_;
};

}  // namespace trivet::detail
