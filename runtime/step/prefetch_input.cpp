// SPDX-License-Identifier: Apache-2.0
#include "step/prefetch_input.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "trivet/backend/thread_pool.h"
#include "trivet/error.h"
#include "trivet/plugin/plugin_call.h"
#include "trivet/tensor/profile.h"

namespace trivet {

// An item of the queue: a batch, the end of the data (no batch), or an error.
struct PrefetchInput::Item {
  std::optional<Batch> batch;
  Value state;  // of the input after this item
  std::exception_ptr error;

  bool last() const { return error != nullptr || !batch.has_value(); }
};

// The thread and its queue. While this object exists, only the thread may use the input.
class PrefetchInput::Producer {
 public:
  Producer(Input& input, std::size_t depth, const std::string& path)
      : input_(input), depth_(depth), path_(path), thread_([this] { run(); }) {}

  ~Producer() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    room_.notify_one();
    thread_.join();
  }

  Item take() {
    std::unique_lock lock(mutex_);
    filled_.wait(lock, [this] { return !queue_.empty(); });
    Item item = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    room_.notify_one();
    return item;
  }

 private:
  void run() {
    FlushDenormals flush;
    while (wait_for_room()) {
      Item item = make();
      const bool last = item.last();
      {
        std::lock_guard lock(mutex_);
        queue_.push_back(std::move(item));
      }
      filled_.notify_one();
      if (last) return;
    }
  }

  bool wait_for_room() {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return stop_ || queue_.size() < depth_; });
    return !stop_;
  }

  Item make() {
    Item item;
    const ProfileSpan span("read batch");
    try {
      in_plugin(item_, "get_next", path_, [&] { item.batch = input_.get_next(); });
      in_plugin(item_, "save_state", path_, [&] { item.state = input_.save_state(); });
    } catch (...) {
      item.batch.reset();
      item.error = std::current_exception();
    }
    return item;
  }

  Input& input_;
  const RegistryItem* const item_ = item_of(input_);
  const std::size_t depth_;
  const std::string path_;
  std::mutex mutex_;
  std::condition_variable room_, filled_;
  std::deque<Item> queue_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses all of the above
};

PrefetchInput::PrefetchInput(std::unique_ptr<Input> input, std::int64_t depth, std::string path)
    : input_(std::move(input)),
      depth_(static_cast<std::size_t>(depth)),
      path_(std::move(path)),
      batches_per_epoch_(input_->batches_per_epoch()) {}

PrefetchInput::~PrefetchInput() = default;

void PrefetchInput::start() {
  in_plugin(item_of(*input_), "start", path_, [&] { input_->start(); });
  work_ahead();
}

void PrefetchInput::work_ahead() {
  if (producer_ || ended_ || error_) return;
  consumed_ = input_->save_state();
  try {
    producer_ = std::make_unique<Producer>(*input_, depth_, path_);
  } catch (const std::system_error& failure) {
    throw RunError(
        "cannot start the thread that prefetches batches: " + failure.code().message(),
        {.path = path_,
         .hint =
             "raise the limit of memory or threads (ulimit -v, ulimit -u), or set prefetch = 0"});
  }
}

std::optional<Batch> PrefetchInput::get_next() {
  work_ahead();
  if (error_) std::rethrow_exception(error_);
  if (ended_) return std::nullopt;
  Item item = producer_->take();
  if (item.last()) producer_.reset();
  error_ = item.error;
  if (error_) std::rethrow_exception(error_);
  consumed_ = std::move(item.state);
  ended_ = !item.batch.has_value();
  return std::move(item.batch);
}

void PrefetchInput::forget() {
  producer_.reset();
  ended_ = false;
  error_ = nullptr;
}

void PrefetchInput::reset() {
  forget();
  input_->reset();
}

Value PrefetchInput::save_state() const {
  return producer_ || ended_ || error_ ? consumed_ : input_->save_state();
}

void PrefetchInput::restore_state(const Value& state) {
  forget();
  input_->restore_state(state);
}

std::optional<std::int64_t> PrefetchInput::batches_per_epoch() const {
  return batches_per_epoch_;
}

// Forwarded to the inner input; it must allow calls while the thread runs.
const void* PrefetchInput::extension(std::string_view id) const noexcept {
  return input_->extension(id);
}

}  // namespace trivet
