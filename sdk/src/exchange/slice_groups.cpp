// SPDX-License-Identifier: Apache-2.0
#include "exchange/slice_groups.h"

namespace trivet::detail {

SliceGroups::SliceGroups(ProcessGroup& group, std::int64_t in_slice)
    : within_(group.split(static_cast<int>(group.rank() / in_slice))),
      between_(group.split(static_cast<int>(group.rank() % in_slice))),
      queue_(std::make_shared<RelayQueue>()) {
  group.call_while_waiting(queue_);
}

}  // namespace trivet::detail
