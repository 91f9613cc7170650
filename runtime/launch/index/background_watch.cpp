// SPDX-License-Identifier: Apache-2.0
#include "launch/index/background_watch.h"

#include <utility>

namespace trivet {
namespace {

// Size of a batch of units. Fewer units are checked without another thread.
constexpr std::size_t kBatch = 256;

}  // namespace

BackgroundWatch::~BackgroundWatch() {
  close();
}

void BackgroundWatch::add(UnitFiles unit) {
  added_.push_back(std::move(unit));
  if (added_.size() < kBatch) return;
  if (!thread_.joinable()) thread_ = std::thread([this] { look_at_all(); });
  {
    const std::lock_guard lock(mutex_);
    handed_over_.push_back(std::exchange(added_, {}));
  }
  news_.notify_one();
}

bool BackgroundWatch::has_any_changed() {
  look(std::exchange(added_, {}));
  close();
  return changed_;
}

void BackgroundWatch::close() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  news_.notify_one();
  thread_.join();
}

void BackgroundWatch::look_at_all() {
  std::unique_lock lock(mutex_);
  while (true) {
    news_.wait(lock, [&] { return closed_ || !handed_over_.empty(); });
    if (handed_over_.empty()) return;
    const Batch batch = std::move(handed_over_.front());
    handed_over_.pop_front();
    lock.unlock();
    look(batch);
    lock.lock();
  }
}

void BackgroundWatch::look(const Batch& batch) {
  RunWatch watch(locations_);
  for (const UnitFiles& unit : batch) {
    if (changed_) return;
    if (watch.has_changed(unit)) changed_ = true;
  }
}

}  // namespace trivet
