// SPDX-License-Identifier: Apache-2.0
// How parts of processes in several slices come together: between slices among processes with the
// same position in them, then within each slice. Of n processes in a slice each sends 1/n of what
// it would send to other slices if all exchanged with all, in as many messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "exchange/exchange_buffers.h"
#include "exchange/float_rows.h"
#include "exchange/slice_groups.h"

namespace trivet::detail {

class SliceGather {
 public:
  // The group is as that of SliceGroups.
  SliceGather(ProcessGroup& group, std::int64_t in_slice, std::shared_ptr<ExchangeBuffers> buffers);

  // As those of PartGather, in segments, and without waiting.
  void gather(std::span<const float> own, std::span<const BlockPart> parts, std::span<float> all);
  std::unique_ptr<Transfer> start(std::span<const float> own, std::span<const BlockPart> parts,
                                  std::span<float> all);

 private:
  class Exchange;
  class Started;
  void together(std::span<const float> mine, std::size_t count, std::span<const BlockPart> parts,
                std::span<float> all);

  std::shared_ptr<SliceGroups> groups_;
  std::shared_ptr<ExchangeBuffers> buffers_;
};

}  // namespace trivet::detail
