// SPDX-License-Identifier: Apache-2.0
// SearchRecords: the records of an experiment for the orchestrator below a search. They are the
// host's records with two changes: units of stopped trials count as canceled, and the search is
// notified of new records.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trivet/launch/unit_records.h"

namespace trivet::search {

class SearchRecords final : public launch::UnitRecords {
 public:
  // `records` must outlive this object.
  explicit SearchRecords(launch::UnitRecords& records) : records_(records) {}

  // Runs after record(); may call anything here.
  void on_record(std::function<void()> call) { on_record_ = std::move(call); }
  // Cancels the unit; its events contain the reason.
  void stop(std::int64_t wid, std::string why) { stopped_[wid] = std::move(why); }

  std::vector<launch::WorkUnit> units() override { return records_.units(); }
  launch::WorkUnit add(const launch::SweepItem& item) override { return records_.add(item); }
  launch::JobStatus status(std::int64_t wid, std::string_view job) override {
    return records_.status(wid, job);
  }
  bool is_cancelled(std::int64_t wid) override {
    return stopped_.contains(wid) || records_.is_cancelled(wid);
  }
  void refresh() override { records_.refresh(); }
  void record(std::span<const launch::JobEvent> events, Durability durability) override;

 private:
  launch::UnitRecords& records_;
  std::function<void()> on_record_;
  std::map<std::int64_t, std::string> stopped_;  // wid -> why
};

}  // namespace trivet::search
