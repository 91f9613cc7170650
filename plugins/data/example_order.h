// SPDX-License-Identifier: Apache-2.0
// Which example stands where: epochs, shuffling, hosts and the remainder, without a buffer.
//
// All hosts read one global sequence: at position p of epoch e stands example p, or with shuffling
// the p-th of a permutation keyed by (seed, e). A global batch takes batch_size * num_infeed_hosts
// positions; host h has the h-th batch_size of them. So where a run stands is (epoch, position),
// and hosts together give the same batches as one host with their global batch size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trivet/input.h"
#include "trivet/random.h"

namespace trivet::data {

struct OrderState {
  std::int64_t epoch = 0;
  std::int64_t position = 0;  // of the global sequence in this epoch
  bool operator==(const OrderState&) const = default;
};

class ExampleOrder {
 public:
  // Throws InputError when `examples` make no batch. `name` is that of the data, for messages.
  ExampleOrder(const InputConfig& config, bool training, std::int64_t examples,
               const std::string& name);

  struct Slot {
    std::int64_t example = 0;
    bool real = true;        // false: padding, the example is a stand-in
    std::int64_t epoch = 0;  // the pass over the data that it is of
  };
  // Fills batch_size slots of this host and moves on; false at the end of the data.
  bool next(std::vector<Slot>& slots);

  std::int64_t batches_per_epoch() const;
  std::int64_t examples() const { return examples_; }

  const OrderState& state() const { return state_; }
  void set_state(const OrderState& state);  // 0 <= position < examples

 private:
  std::int64_t example_at(std::int64_t position);

  std::int64_t examples_, batch_, global_batch_, first_of_host_;
  std::int64_t epochs_;  // 0: without end
  bool shuffle_, pad_;
  Key key_;
  OrderState state_;
  std::optional<Permutation> permutation_;  // of permutation_epoch_
  std::int64_t permutation_epoch_ = -1;
};

}  // namespace trivet::data
