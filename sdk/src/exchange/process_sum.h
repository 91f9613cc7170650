// SPDX-License-Identifier: Apache-2.0
// Sums of floats over the processes of a group, whole or in parts, and how parts come together.
// Long blocks are exchanged in segments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "exchange/exchange_buffers.h"
#include "exchange/float_rows.h"
#include "trivet/backend/sum_tree.h"

namespace trivet {

class ProcessGroup;  // trivet/backend/process_group.h
class Transfer;

namespace detail {

class SliceGather;  // exchange/slice_gather.h
class SliceSum;     // exchange/slice_sum.h

// Whether one of the parts of a block is more than twice as long as even ones: then its process
// would have much more to send or to receive than others. So even parts are summed or gathered, and
// what belongs to others moves in an exchange of its own, as in van de Geijn's broadcast (Barnett
// et al. 1994, Interprocessor collective communication library).
bool are_uneven(std::span<const BlockPart> parts);
// Equal parts of so many elements: a multiple of 16, and fewer for the last ones.
std::vector<BlockPart> even_parts(std::size_t elements, std::size_t processes);

class PartGather {
 public:
  // The group must outlive this. Where it has several processes of each of several slices, `slices`
  // gathers parts between them, and then within them.
  PartGather(ProcessGroup& group, std::shared_ptr<ExchangeBuffers> buffers,
             std::shared_ptr<SliceGather> slices = nullptr)
      : group_(group),
        buffers_(std::move(buffers)),
        observed_(&group, [](ProcessGroup*) {}),
        slices_(std::move(slices)) {}

  // The group, as long as this is.
  std::weak_ptr<ProcessGroup> group() const { return observed_; }

  // `all` gets the parts of all processes; parts[r] is where that of rank r is. That of this
  // process may be in `all`.
  void gather(std::span<const float> own, std::span<const BlockPart> parts, std::span<float> all);
  // The same without waiting; null where it takes several exchanges.
  std::unique_ptr<Transfer> start(std::span<const float> own, std::span<const BlockPart> parts,
                                  std::span<float> all);

 private:
  void gather_directly(std::span<const float> own, std::span<const BlockPart> parts,
                       std::span<float> all);
  std::unique_ptr<Transfer> start_to_each(std::span<const float> mine,
                                          std::span<const std::span<float>> ranges);
  void together(std::span<const float> mine, std::size_t count,
                std::span<const std::span<float>> ranges);

  ProcessGroup& group_;
  std::shared_ptr<ExchangeBuffers> buffers_;
  std::shared_ptr<ProcessGroup> observed_;
  std::shared_ptr<SliceGather> slices_;
};

// Adds in the order of a tree.
class ProcessSum {
 public:
  // A tree of as many values as the group has processes. The group must outlive this. Where it has
  // several processes of each of several slices, `slices` adds within them and then between them,
  // and `gather` brings the parts of a sum together.
  ProcessSum(ProcessGroup& group, SumTree tree, std::shared_ptr<ExchangeBuffers> buffers,
             std::shared_ptr<SliceSum> slices = nullptr,
             std::shared_ptr<SliceGather> gather = nullptr)
      : group_(group),
        tree_(std::move(tree)),
        buffers_(std::move(buffers)),
        parts_(group, buffers_, std::move(gather)),
        slices_(std::move(slices)) {}

  // Whether each process adds a part of so many floats; of fewer each adds all: one exchange of
  // everything takes less time than two of parts.
  static bool is_cut(std::int64_t floats) { return floats > 16'384; }

  // Each process gets the sum. `in` and `out` may be the same.
  void whole(std::span<const float> in, std::span<float> out);
  // parts[r] of `in` is that of rank r; `out`, which may be that of this process, gets its sum.
  void part(std::span<const float> in, std::span<const BlockPart> parts, std::span<float> out);
  // The same without waiting; null where it takes several exchanges. Its end adds, in the thread
  // that waits for it. `in` and `out` are its own until then, and not in one another.
  std::unique_ptr<Transfer> start_part(std::span<const float> in, std::span<const BlockPart> parts,
                                       std::span<float> out);

  // Processes, and the slices that they exchange between; 1: all exchange with all.
  struct Sharing {
    std::size_t processes = 1, slices = 1;
  };
  // What the buffers grow to for blocks of so many elements, of which each process owns `part`:
  // sums over a group, and gathers over all processes.
  static std::size_t buffer_floats(std::size_t elements, const Sharing& group, const Sharing& all,
                                   std::size_t part);

 private:
  class Rows;
  class Part;
  void whole_segment(std::span<const float> in, std::span<float> out);
  void part_directly(std::span<const float> in, std::span<const BlockPart> parts,
                     std::span<float> out);

  ProcessGroup& group_;
  SumTree tree_;
  std::shared_ptr<ExchangeBuffers> buffers_;
  PartGather parts_;
  std::shared_ptr<SliceSum> slices_;
};

}  // namespace detail
}  // namespace trivet
