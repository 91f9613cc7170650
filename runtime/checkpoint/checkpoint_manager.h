// SPDX-License-Identifier: Apache-2.0
// CheckpointManager: owns the directory `checkpoints/` of a run.
//
// A checkpoint is made in a temporary directory, everything in it is put on the disk, and a rename
// gives it its name, step_00001000. So at every instant, also when the process is killed or the
// machine loses power, the directories with such names are whole. Old ones get another name before
// they are removed, for the same reason. Leftovers of a killed process are removed by the next one.
//
// Saving has two halves. The trainer's state is copied while it waits; the copy is written, synced
// and named on another thread when `async` is set. One write is under way at a time: what needs the
// directory waits for it. A write that failed is an error of whichever call comes next.
//
// A checkpoint that is damaged (a sum, a size, a form is wrong) is told from one that the system
// does not give at the moment, of which nothing is known. The former is passed over and keeps its
// files under the name damaged_step_00001000. The latter is tried a few times more; then the run
// stops, since going on from an older one would do steps again and replace what may be whole.
//
// The caller holds the run directory's lock: one process at a time. [run-thread]
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_snapshot.h"
#include "trivet/error.h"

namespace trivet {

// A checkpoint that is damaged, or of which there is none as it was asked for: nothing was
// restored.
class UnusableCheckpoint : public RunError {
 public:
  using RunError::RunError;
};

struct SavedCheckpoint {
  std::int64_t step = 0;
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  double seconds = 0;  // from the call to the checkpoint on the disk
  double stalled = 0;  // of these, how long the caller waited
};

struct CheckpointOptions {
  std::int64_t max_to_keep = 5;  // the newest; 0: all
  std::int64_t keep_every = 0;   // multiples of this step stay, whatever their age; 0: none
  bool async = false;
  // `newest` is to find this step, or the newest even where it is damaged: for whoever looks at a
  // checkpoint instead of going on from it.
  std::optional<std::int64_t> step{};
  bool pass_over_damaged = true;
};

class CheckpointManager {
 public:
  using Warn = std::function<void(const std::string&)>;
  using Fill = std::function<void(CheckpointWriter&)>;

  // The directory is made by the first save.
  CheckpointManager(std::filesystem::path directory, CheckpointOptions options, Warn warn);
  ~CheckpointManager();  // waits for the write under way
  CheckpointManager(const CheckpointManager&) = delete;
  CheckpointManager& operator=(const CheckpointManager&) = delete;

  // The newest whole checkpoint; null when there is none at all. RunError when nothing but damaged
  // ones is left, or when the system does not give one. Changes nothing on the disk: those that are
  // passed over are the affair of set_aside_damaged().
  std::unique_ptr<CheckpointDirectoryReader> look();
  // Once it is certain that the run goes on from what look() gave: damaged ones that it passed over
  // get another name, with a warning that tells the reason, and what a killed process has left
  // goes.
  void set_aside_damaged();
  // Both.
  std::unique_ptr<CheckpointDirectoryReader> newest();
  // The same of those before a step.
  std::unique_ptr<CheckpointDirectoryReader> newest(std::int64_t before);

  // Copies what `fill` gives and writes it; `take_saved` tells when it is done. What the options do
  // not cover any more is removed then. False when the last save or restore was of this very step.
  // A write that fails throws RunError, and the checkpoints there were are still there; so does
  // what `fill` throws, but for a DivergedError, which comes through as it is.
  bool begin_save(std::int64_t step, const Fill& fill);
  // The same, done on return.
  std::optional<SavedCheckpoint> save(std::int64_t step, const Fill& fill);

  // What has been written since the last call. Throws RunError when a write failed.
  std::vector<SavedCheckpoint> take_saved();
  // Waits for the write under way, if there is one.
  void wait();
  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }

  // Takes over a checkpoint from elsewhere, by links to its files where that can be. Throws
  // RunError, for example when it is removed meanwhile.
  void adopt(std::int64_t step, const std::filesystem::path& source);
  // The same of one that another process may have damaged: where it is not whole, what is wrong
  // with it, and nothing has changed here. Empty when it was taken over. Throws RunError when the
  // system does not give it.
  [[nodiscard]] std::string adopt_if_whole(std::int64_t step, const std::filesystem::path& source);
  void remove(std::int64_t step);
  // The next save of this step is of other weights, and is not left out.
  void outdate(std::int64_t step);
  // Renames a whole checkpoint that training went wrong from, so that no run goes on from it;
  // warns.
  void leave(std::int64_t step);

  // Step of the last save or restore.
  std::optional<std::int64_t> current() const { return current_; }
  // Steps with a checkpoint, ascending, whole or not.
  std::vector<std::int64_t> steps() const;
  std::filesystem::path path_of(std::int64_t step) const;

 private:
  bool goes_on() const { return !options_.step && options_.pass_over_damaged; }
  std::unique_ptr<CheckpointDirectoryReader> look(std::int64_t before);
  std::unique_ptr<CheckpointDirectoryReader> asked();
  std::unique_ptr<CheckpointDirectoryReader> open(std::int64_t step);
  // Says what has become of it.
  std::string renamed(std::int64_t step, const std::string& prefix);
  SavedCheckpoint write(std::int64_t step);
  RunError not_saved(std::int64_t step, const Error& reason) const;
  using Make = std::function<void(const std::filesystem::path&)>;
  void replace(std::int64_t step, const Make& make);
  void adopt(std::int64_t step, const Make& make);
  void remove_leftovers();
  void publish(const std::filesystem::path& temporary, std::int64_t step);
  void prune();
  void discard(const std::filesystem::path& path);
  void give_warnings();

  std::filesystem::path directory_;
  CheckpointOptions options_;
  Warn warn_;
  std::optional<std::int64_t> current_, before_;  // before_: what current_ was before this save
  std::vector<std::pair<std::int64_t, std::string>> passed_over_;  // by look(), with the reason

  // Of the thread that writes while there is one, of the run thread otherwise.
  CheckpointSnapshot snapshot_;
  std::set<std::int64_t> damaged_;
  std::vector<std::string> warnings_;

  std::future<SavedCheckpoint> writing_;
  double stalled_ = 0;
  std::atomic<bool> failed_ = false;
  std::exception_ptr failure_;
  std::vector<SavedCheckpoint> saved_;
};

}  // namespace trivet
