// SPDX-License-Identifier: Apache-2.0
#include "example_order.h"

#include "trivet/error.h"

namespace trivet::data {

ExampleOrder::ExampleOrder(const InputConfig& config, bool training, std::int64_t examples,
                           const std::string& name)
    : examples_(examples),
      batch_(config.batch_size),
      epochs_(config.epochs == 0 && !training ? 1 : config.epochs),
      shuffle_(config.shuffle),
      pad_(config.remainder == Remainder::pad),
      key_(Key(static_cast<std::uint64_t>(config.seed)).fold("order")) {
  if (__builtin_mul_overflow(batch_, config.num_infeed_hosts, &global_batch_) ||
      global_batch_ > std::int64_t{1} << 40)
    throw InputError(name + ": batch_size times num_infeed_hosts is out of range");
  first_of_host_ = batch_ * config.infeed_host_index;
  if (examples_ == 0) throw InputError(name + ": there are no examples");
  if (!pad_ && examples_ < global_batch_)
    throw InputError(name + ": " + std::to_string(examples_) +
                         " examples do not fill one batch of " + std::to_string(global_batch_),
                     {.hint = "set remainder = \"pad\", or a smaller batch_size"});
}

std::int64_t ExampleOrder::batches_per_epoch() const {
  return (examples_ + (pad_ ? global_batch_ - 1 : 0)) / global_batch_;
}

void ExampleOrder::set_state(const OrderState& state) {
  state_ = state;
}

std::int64_t ExampleOrder::example_at(std::int64_t position) {
  if (!shuffle_) return position;
  if (permutation_epoch_ != state_.epoch) {
    permutation_.emplace(key_.fold(static_cast<std::uint64_t>(state_.epoch)),
                         static_cast<std::uint64_t>(examples_));
    permutation_epoch_ = state_.epoch;
  }
  return static_cast<std::int64_t>((*permutation_)(static_cast<std::uint64_t>(position)));
}

bool ExampleOrder::next(std::vector<Slot>& slots) {
  // A state saved with another batch size may stand where no full batch is left.
  if (!pad_ && state_.position + global_batch_ > examples_) state_ = {state_.epoch + 1, 0};
  if (epochs_ > 0 && state_.epoch >= epochs_) return false;
  slots.resize(static_cast<std::size_t>(batch_));
  std::int64_t position = state_.position + first_of_host_;
  for (Slot& slot : slots) {
    slot = {example_at(position % examples_), position < examples_, state_.epoch};
    ++position;
  }
  state_.position += global_batch_;
  const bool ended =
      pad_ ? state_.position >= examples_ : state_.position + global_batch_ > examples_;
  if (ended) state_ = {state_.epoch + 1, 0};
  return true;
}

}  // namespace trivet::data
