// SPDX-License-Identifier: Apache-2.0
// Sums over processes in several slices: each slice adds its own first, and processes with the same
// position in their slices add what the slices give. Of n processes in a slice each sends 1/n of
// what it would send to other slices if all exchanged with all.
//
// Within its slice a process adds its own part and those of its position in other slices, so that
// its second phase needs no other process of its slice. It sends and receives as much in all as if
// all exchanged with all, in as many messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "exchange/exchange_buffers.h"
#include "exchange/float_rows.h"
#include "exchange/slice_groups.h"
#include "trivet/backend/sum_tree.h"

namespace trivet::detail {

class SliceSum {
 public:
  // The tree of the processes of a slice, and that of slices. The group is as that of SliceGroups.
  SliceSum(ProcessGroup& group, std::int64_t in_slice, SumTree within, SumTree between,
           std::shared_ptr<ExchangeBuffers> buffers);

  // As those of ProcessSum: of a block that each process adds whole; of parts, in segments; and
  // without waiting.
  void whole(std::span<const float> in, std::span<float> out);
  void part(std::span<const float> in, std::span<const BlockPart> parts, std::span<float> out);
  std::unique_ptr<Transfer> start_part(std::span<const float> in, std::span<const BlockPart> parts,
                                       std::span<float> out);

 private:
  class Exchange;
  class Started;
  struct Trees {
    SumTree within, between;
  };
  // Floats that a process receives.
  std::size_t received_floats(std::span<const BlockPart> parts) const;

  std::shared_ptr<SliceGroups> groups_;
  std::shared_ptr<const Trees> trees_;
  std::shared_ptr<ExchangeBuffers> buffers_;
};

}  // namespace trivet::detail
