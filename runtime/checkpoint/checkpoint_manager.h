// SPDX-License-Identifier: Apache-2.0
// CheckpointManager: owns the directory `checkpoints/` of a run.
//
// A checkpoint is written to a temporary directory, synced to the disk, then renamed to
// step_00001000. So the directories with such names are complete at any moment, also after a kill
// or a power failure. For the same reason old ones are renamed before they are removed. The next
// process removes the leftovers of a killed process.
//
// Saving has two parts. The trainer waits while its state is copied. Another thread writes, syncs
// and renames the copy if `async` is set. Only one write runs at a time: calls that need the
// directory wait for it. The next call throws the error of a failed write.
//
// A damaged checkpoint (wrong checksum, size or format) differs from one that the system cannot
// read at the moment. A damaged checkpoint is skipped and renamed to damaged_step_00001000. An
// unreadable one is tried a few more times, then the run stops: continuing from an older checkpoint
// would repeat steps and replace a checkpoint that may be intact.
//
// Several processes of a run write a checkpoint together (checkpoint_part.h). This one makes the
// directory, and renames it when all are done.
//
// The caller must hold the run directory's lock: one process at a time. [run-thread]
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
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint_directory.h"
#include "checkpoint/checkpoint_snapshot.h"
#include "checkpoint/other_writers.h"
#include "trivet/config/interval.h"
#include "trivet/error.h"

namespace trivet {

// The requested checkpoint is damaged or does not exist. Nothing was restored.
class UnusableCheckpoint : public RunError {
 public:
  using RunError::RunError;
};

struct SavedCheckpoint {
  std::int64_t step = 0;
  std::filesystem::path path;
  std::uint64_t bytes = 0;
  double seconds = 0;  // from the call until the checkpoint is on the disk
  double stalled = 0;  // the part that the caller waited
  // The most bytes of tensors that one process has copied and written.
  std::uint64_t largest_part = 0;
};

struct CheckpointOptions {
  std::int64_t max_to_keep = 5;  // number of newest checkpoints; 0: all
  // Always kept: multiples of a step; or the first one and each that is this time later than the
  // last one that was kept for it. 0: none.
  Interval keep_every{};
  // Folder in the directory to which those not kept are moved; empty: they are removed.
  std::string todelete_subdir{};
  bool async = false;
  // If set, `newest` finds this step, or the newest even if it is damaged: for reading a checkpoint
  // without continuing from it.
  std::optional<std::int64_t> step{};
  bool pass_over_damaged = true;
};

class CheckpointManager {
 public:
  using Warn = std::function<void(const std::string&)>;
  using Fill = std::function<void(CheckpointWriter&)>;

  // The first save creates the directory.
  CheckpointManager(std::filesystem::path directory, CheckpointOptions options, Warn warn);
  ~CheckpointManager();  // waits for the running write
  CheckpointManager(const CheckpointManager&) = delete;
  CheckpointManager& operator=(const CheckpointManager&) = delete;

  // From now on other processes write their parts. They must outlive all other calls.
  void share(OtherWriters& others);

  // The newest intact checkpoint. Null if there is none at all. Throws RunError if all are damaged,
  // or if the system cannot read one. Changes nothing on the disk; set_aside_damaged() renames
  // skipped ones.
  std::unique_ptr<CheckpointDirectoryReader> look();
  // Call this once the run continues from the result of look(). Renames the damaged checkpoints
  // that look() skipped, with a warning that gives the reason, and removes leftovers of a killed
  // process.
  void set_aside_damaged();
  // Both functions above.
  std::unique_ptr<CheckpointDirectoryReader> newest();
  // The same for checkpoints before a step.
  std::unique_ptr<CheckpointDirectoryReader> newest(std::int64_t before);

  // Copies the data of `fill` and writes it; `take_saved` reports when the write is done. Then
  // removes the checkpoints that the options no longer keep. Returns false if the last save or
  // restore was of the same step. Throws RunError if a write fails; existing checkpoints are kept.
  // Errors of `fill` also become RunError, except DivergedError.
  bool begin_save(std::int64_t step, const Fill& fill);
  // The same, but the write is done on return.
  std::optional<SavedCheckpoint> save(std::int64_t step, const Fill& fill);

  // The checkpoints written since the last call. Throws RunError if a write failed.
  std::vector<SavedCheckpoint> take_saved();
  // Waits for the running write, if any.
  void wait();
  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }

  // Imports a checkpoint from elsewhere, by hard links to its files if possible. Throws RunError,
  // for example if it is removed meanwhile.
  void adopt(std::int64_t step, const std::filesystem::path& source);
  // The same for one that another process may have damaged. If it is not intact, returns the reason
  // and changes nothing. Returns an empty string if it was imported. Throws RunError if the system
  // cannot read it.
  [[nodiscard]] std::string adopt_if_whole(std::int64_t step, const std::filesystem::path& source);
  void remove(std::int64_t step);
  // The next save of this step has other weights and must not be skipped.
  void outdate(std::int64_t step);
  // Renames a checkpoint from which training diverged, so that no run continues from it. Prints a
  // warning.
  void leave(std::int64_t step);

  // Step of the last save or restore.
  std::optional<std::int64_t> current() const { return current_; }
  // Steps with a checkpoint, ascending, intact or damaged.
  std::vector<std::int64_t> steps() const;
  std::filesystem::path path_of(std::int64_t step) const;

 private:
  // Begins the names of directories that are not checkpoints, not yet or no longer.
  static constexpr std::string_view kLeftover = ".tmp_";

  bool continues_run() const { return !options_.step && options_.pass_over_damaged; }
  std::unique_ptr<CheckpointDirectoryReader> look(std::int64_t before);
  std::unique_ptr<CheckpointDirectoryReader> find_requested();
  std::unique_ptr<CheckpointDirectoryReader> open(std::int64_t step);
  // Returns a description of the result.
  std::string renamed(std::int64_t step, const std::string& prefix);
  using OtherParts = std::shared_future<std::vector<WrittenPart>>;
  SavedCheckpoint write(std::int64_t step, const OtherParts& others);
  std::vector<WrittenPart> write_tensors(const std::filesystem::path& temporary,
                                         const OtherParts& others);
  // A PluginError stays one.
  [[noreturn]] void throw_not_saved(std::int64_t step, const Error& reason) const;
  using Make = std::function<void(const std::filesystem::path&)>;
  std::filesystem::path temporary_path(std::int64_t step) const;
  void begin_directory(std::int64_t step);
  void replace(std::int64_t step, const Make& make);
  void fill_directory(std::int64_t step, const Make& make);
  void adopt(std::int64_t step, const Make& make);
  void remove_leftovers();
  void publish(const std::filesystem::path& temporary, std::int64_t step);
  void prune();
  std::set<std::int64_t> always_kept(const std::vector<std::int64_t>& steps) const;
  void retire(std::int64_t step);
  // The path of this name, or of the first one of name.2, name.3, .. that does not exist.
  static std::filesystem::path unused_path(const std::filesystem::path& directory,
                                           const std::string& name);
  void discard(const std::filesystem::path& path);
  void give_warnings();

  std::filesystem::path directory_;
  CheckpointOptions options_;
  Warn warn_;
  std::optional<std::int64_t> current_, before_;  // before_: current_ before this save
  std::vector<std::pair<std::int64_t, std::string>>
      passed_over_;  // skipped by look(), with the reason

  // Owned by the writer thread while it runs, otherwise by the run thread.
  CheckpointSnapshot snapshot_{CheckpointSnapshot::Part{}};
  std::set<std::int64_t> damaged_;
  std::vector<std::string> warnings_;

  OtherWriters* others_ = nullptr;
  std::promise<void> own_part_;  // is written, or has failed
  std::future<SavedCheckpoint> writing_;
  double stalled_ = 0;
  std::atomic<bool> failed_ = false;
  std::exception_ptr failure_;
  std::vector<SavedCheckpoint> saved_;
};

}  // namespace trivet
