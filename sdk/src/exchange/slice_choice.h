// SPDX-License-Identifier: Apache-2.0
// SliceChoice: whether a group of processes exchanges within slices first, and by what.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "exchange/slice_gather.h"
#include "exchange/slice_sum.h"

namespace trivet::detail {

struct SliceChoice {
  std::int64_t in_slice = 1;  // 1: there is nothing to do within a slice
  std::shared_ptr<ExchangeBuffers> buffers;

  // Null: all exchange with all.
  std::shared_ptr<SliceGather> gather(ProcessGroup& group) const {
    if (in_slice == 1) return nullptr;
    return std::make_shared<SliceGather>(group, in_slice, buffers);
  }
  // Null where the slices are no part of the tree, too.
  std::shared_ptr<SliceSum> sum(ProcessGroup& group, const SumTree& tree) const {
    const auto parts = tree.split(in_slice);
    if (in_slice == 1 || !parts) return nullptr;
    return std::make_shared<SliceSum>(group, in_slice, parts->first, parts->second, buffers);
  }
};

}  // namespace trivet::detail
