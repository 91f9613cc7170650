// SPDX-License-Identifier: Apache-2.0
#include "search/study/search_records.h"

namespace trivet::search {

void SearchRecords::record(std::span<const launch::JobEvent> events, Durability durability) {
  std::vector<launch::JobEvent> told(events.begin(), events.end());
  for (launch::JobEvent& event : told) {
    const auto found = stopped_.find(event.wid);
    if (found == stopped_.end() || event.status.state != launch::JobState::cancelled) continue;
    event.status.detail = found->second;
  }
  records_.record(told, durability);
  if (on_record_) on_record_();
}

}  // namespace trivet::search
