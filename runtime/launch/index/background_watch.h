// SPDX-License-Identifier: Apache-2.0
//
// BackgroundWatch: whether the files of any of many units are no longer as they were read. Another
// thread looks at them while the caller goes on: a look at each is most of what a listing costs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "launch/index/run_watch.h"
#include "launch/store/experiment_store.h"

namespace trivet {

class BackgroundWatch {
 public:
  // Which outlive it.
  explicit BackgroundWatch(const std::vector<ExperimentStore::Location>& locations)
      : locations_(locations) {}
  ~BackgroundWatch();
  BackgroundWatch(const BackgroundWatch&) = delete;
  BackgroundWatch& operator=(const BackgroundWatch&) = delete;

  // Those of an experiment one after the other.
  void add(UnitFiles unit);
  // Of those that were looked at until now.
  bool has_seen_change() const { return changed_; }
  // Of all that were added; waits for the other thread.
  bool has_any_changed();

 private:
  using Batch = std::vector<UnitFiles>;
  void look(const Batch& batch);
  void look_at_all();
  void close();

  const std::vector<ExperimentStore::Location>& locations_;
  Batch added_;
  std::atomic<bool> changed_ = false;
  std::thread thread_;
  std::mutex mutex_;  // of what follows
  std::condition_variable news_;
  std::deque<Batch> handed_over_;
  bool closed_ = false;
};

}  // namespace trivet
