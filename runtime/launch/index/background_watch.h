// SPDX-License-Identifier: Apache-2.0
// BackgroundWatch: detects whether files of many units changed since they were read. Another thread
// calls stat() on them while the caller continues, because these calls take most of the time of a
// listing.
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
  // The arguments must outlive this object.
  explicit BackgroundWatch(const std::vector<ExperimentStore::Location>& locations)
      : locations_(locations) {}
  ~BackgroundWatch();
  BackgroundWatch(const BackgroundWatch&) = delete;
  BackgroundWatch& operator=(const BackgroundWatch&) = delete;

  // Add the units of an experiment consecutively.
  void add(UnitFiles unit);
  // Whether a change was found so far.
  bool has_seen_change() const { return changed_; }
  // Whether any added unit changed. Waits for the other thread.
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
