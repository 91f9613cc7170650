// SPDX-License-Identifier: Apache-2.0
// The processes of a group by their slices: those within one, and those with the same position in
// each. The network within a slice is fast, and that between slices is slow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "exchange/relay_queue.h"

namespace trivet::detail {

class SliceGroups {
 public:
  // Ranks [s n, (s + 1) n) are those of slice s, with n = in_slice. All ranks make the call, and
  // the group must outlive this.
  SliceGroups(ProcessGroup& group, std::int64_t in_slice);

  ProcessGroup& within() const { return *within_; }
  ProcessGroup& between() const { return *between_; }
  std::size_t slices() const { return static_cast<std::size_t>(between_->size()); }
  std::size_t in_slice() const { return static_cast<std::size_t>(within_->size()); }
  // Of this process.
  std::size_t slice() const { return static_cast<std::size_t>(between_->rank()); }
  std::size_t position() const { return static_cast<std::size_t>(within_->rank()); }
  std::size_t rank_of(std::size_t slice, std::size_t position) const {
    return slice * in_slice() + position;
  }
  // The second phases of exchanges over these groups.
  RelayQueue& queue() const { return *queue_; }

 private:
  std::shared_ptr<ProcessGroup> within_, between_;
  std::shared_ptr<RelayQueue> queue_;
};

}  // namespace trivet::detail
