// SPDX-License-Identifier: Apache-2.0
#include "tensor/unit_transfer.h"

#include <utility>

#include "exchange/exchange_buffers.h"
#include "tensor/profile_table.h"

namespace trivet::detail {

WatchedExchange::WatchedExchange(ExchangeLog* log, UnitExchange::Kind kind, const Tensor& unit)
    : log_(log) {
  is_watched_ = (log != nullptr && log->is_listening()) || profiles_exchanges();
  if (!is_watched_) return;
  exchange_.kind = kind;
  exchange_.bytes = unit.bytes();
  exchange_.begin = exchange_.wait = exchange_seconds();
}

void WatchedExchange::begin_wait() {
  if (!is_watched_) return;
  exchange_.is_beside = true;
  exchange_.wait = exchange_seconds();
}

void WatchedExchange::end() {
  if (!std::exchange(is_watched_, false)) return;
  exchange_.end = exchange_seconds();
  if (log_ != nullptr) log_->note(exchange_);
  profile_exchange(exchange_);
}

UnitTransfer::UnitTransfer(std::unique_ptr<Transfer> transfer, std::vector<Tensor> tensors,
                           const WatchedExchange& watched)
    : tensors_(std::move(tensors)), transfer_(std::move(transfer)), watched_(watched) {}

UnitTransfer::~UnitTransfer() {
  if (transfer_ != nullptr) keep_to_the_end(std::move(tensors_));
}

void UnitTransfer::wait() {
  if (transfer_ == nullptr) return;
  watched_.begin_wait();
  transfer_->wait();
  watched_.end();
  transfer_ = nullptr;
}

}  // namespace trivet::detail
