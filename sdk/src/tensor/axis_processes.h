// SPDX-License-Identifier: Apache-2.0
// AxisProcesses: the processes that share an axis of a mesh (trivet/tensor/mesh_axis.h), and what
// they exchange.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "exchange/process_sum.h"
#include "trivet/tensor.h"
#include "trivet/tensor/axis_exchange.h"

namespace trivet::detail {

// Counts an exchange of what this process has, for take_axis_exchanges.
void count_exchange(AxisExchange::Kind kind, const Tensor& own, std::size_t unit = 0,
                    std::int64_t sharing = 1);
// Of 8 bytes of each process.
void count_number(Device& device);

class AxisProcesses {
 public:
  // `tree` is the order in which what the processes have is added.
  AxisProcesses(std::shared_ptr<ProcessGroup> group, const SumTree& tree);

  // The sum of what the processes have, f32 and contiguous. [run-thread]
  Tensor sum(const Tensor& own);
  // `whole` gets what the processes have along a dimension, of equal shapes, in the order of ranks.
  // It is contiguous. [run-thread]
  void gather(const Tensor& own, int dim, Tensor& whole);

  ProcessGroup& group() const { return *group_; }
  // To the process of a rank, while this one continues. [run-thread]
  void send(const Tensor& x, int to);
  // Contiguous, as all below. [run-thread]
  void receive(Tensor& x, int from);
  // Those of the rank `root` become those of all. [run-thread]
  void broadcast(Tensor& x, int root);

 private:
  std::shared_ptr<ProcessGroup> group_;
  ProcessSum sums_;
  std::vector<std::byte> rows_;
};

}  // namespace trivet::detail
