// SPDX-License-Identifier: Apache-2.0
// How a checkpoint is saved: copied, written on another thread, and published.
#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "base/process_info.h"
#include "checkpoint/checkpoint_manager.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/trainer.h"

namespace trivet {

void CheckpointManager::share(OtherWriters& others) {
  others_ = &others;
  snapshot_ = CheckpointSnapshot({.processes = others.processes()});
}

bool CheckpointManager::begin_save(std::int64_t step, const Fill& fill) {
  wait();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  if (current_ == step) return false;
  const double start = steady_seconds();
  snapshot_.clear();
  before_ = current_;
  try {
    // The others write into it as soon as they have their copies.
    if (others_ != nullptr) begin_directory(step);
    snapshot_.set_directory(temporary_path(step));
    fill(snapshot_);
  } catch (const DivergedError&) {
    if (others_ != nullptr) discard(temporary_path(step));
    throw;
  } catch (const Error& failure) {
    throw_not_saved(step, failure);
  }
  current_ = step;
  failed_ = false;
  OtherParts others;
  if (others_ != nullptr) others = others_->begin(temporary_path(step));
  own_part_ = {};
  // Deferred: runs in wait(), on this thread.
  const bool is_async = options_.async || others_ != nullptr;
  const auto policy = is_async ? std::launch::async : std::launch::deferred;
  writing_ = std::async(policy, [this, step, start, others] {
    try {
      SavedCheckpoint saved = write(step, others);
      saved.seconds = steady_seconds() - start;
      return saved;
    } catch (...) {
      failed_.store(true, std::memory_order_release);
      throw;
    }
  });
  if (!options_.async) wait();
  stalled_ = steady_seconds() - start;
  if (!options_.async && !saved_.empty()) saved_.back().stalled = stalled_;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return true;
}

std::optional<SavedCheckpoint> CheckpointManager::save(std::int64_t step, const Fill& fill) {
  if (!begin_save(step, fill)) return std::nullopt;
  wait();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  const SavedCheckpoint saved = saved_.back();
  saved_.pop_back();
  return saved;
}

void CheckpointManager::wait() {
  if (!writing_.valid()) return;
  try {
    if (others_ != nullptr) {
      own_part_.get_future().wait();
      others_->wait();
    }
    SavedCheckpoint saved = writing_.get();
    saved.stalled = stalled_;
    saved_.push_back(std::move(saved));
  } catch (...) {
    current_ = before_;
    failure_ = std::current_exception();
    if (writing_.valid()) std::exchange(writing_, {}).wait();  // another process is gone
  }
  give_warnings();
}

std::vector<SavedCheckpoint> CheckpointManager::take_saved() {
  using namespace std::chrono_literals;
  if (writing_.valid() && writing_.wait_for(0s) == std::future_status::ready) wait();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return std::exchange(saved_, {});
}

SavedCheckpoint CheckpointManager::write(std::int64_t step, const OtherParts& others) {
  SavedCheckpoint saved{.step = step, .path = path_of(step)};
  const Make make = [&](const std::filesystem::path& temporary) {
    CheckpointDirectoryWriter writer(temporary);
    const std::vector<WrittenPart> parts = write_tensors(temporary, others);
    for (const auto& [name, sum] : sums_of(parts)) writer.written(name, sum);
    for (const WrittenPart& part : parts) {
      saved.largest_part = std::max(saved.largest_part, bytes_of(part));
    }
    snapshot_.write_state(writer);
    writer.finish(step);
    saved.bytes = writer.bytes();
  };
  if (others.valid()) {
    fill_directory(step, make);
  } else {
    replace(step, make);
  }
  damaged_.erase(step);
  prune();
  return saved;
}

// Of all processes. Waits for the others also where this one has failed: the directory is not
// removed while they write.
std::vector<WrittenPart> CheckpointManager::write_tensors(const std::filesystem::path& temporary,
                                                          const OtherParts& others) {
  std::vector<WrittenPart> parts;
  try {
    parts.push_back(snapshot_.write(temporary));
    own_part_.set_value();
  } catch (...) {
    own_part_.set_value();
    failed_.store(true, std::memory_order_release);
    if (others.valid()) others.wait();
    throw;
  }
  if (!others.valid()) return parts;
  const std::vector<WrittenPart>& theirs = others.get();
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    std::error_code ignored;
    std::filesystem::remove(temporary / report_file_name(static_cast<int>(i) + 1), ignored);
  }
  parts.insert(parts.end(), theirs.begin(), theirs.end());
  return parts;
}

void CheckpointManager::throw_not_saved(std::int64_t step, const Error& reason) const {
  const std::string kept =
      before_ ? path_of(*before_).string() + " is unchanged" : "no earlier checkpoint exists";
  const std::string message =
      fmt::format("checkpoint of step {} not saved: {}; {}", step, reason.message(), kept);
  if (dynamic_cast<const PluginError*>(&reason) != nullptr) {
    throw PluginError(message, reason.details());
  }
  throw RunError(message, reason.details());
}

std::filesystem::path CheckpointManager::temporary_path(std::int64_t step) const {
  return directory_ / fmt::format("{}{:08}", kLeftover, step);
}

void CheckpointManager::begin_directory(std::int64_t step) {
  make_directories(directory_);
  remove_leftovers();
  make_directories(temporary_path(step));
}

void CheckpointManager::replace(std::int64_t step, const Make& make) {
  fill_directory(step, [&](const std::filesystem::path& temporary) {
    begin_directory(step);
    make(temporary);
  });
}

// The directory that `make` fills atomically becomes the checkpoint of the step.
void CheckpointManager::fill_directory(std::int64_t step, const Make& make) {
  const std::filesystem::path temporary = temporary_path(step);
  try {
    make(temporary);
    publish(temporary, step);
  } catch (const Error& failure) {
    discard(temporary);
    throw_not_saved(step, failure);
  } catch (...) {
    discard(temporary);
    throw;
  }
}

}  // namespace trivet
