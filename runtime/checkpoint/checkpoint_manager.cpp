// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_manager.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/process_info.h"
#include "trivet/error.h"
#include "trivet/os/file.h"
#include "trivet/train/checkpoint.h"
#include "trivet/trainer.h"

namespace trivet {
namespace {

// Prefixes of directories that are no longer checkpoints.
const std::string kDamaged = "damaged_", kDiverged = "diverged_";
constexpr const char* kAskedHint =
    "'trivet ckpt verify' shows which checkpoints are whole; --step N evaluates one of them";

std::vector<std::string> names_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  std::error_code failure;
  std::filesystem::directory_iterator entry(directory, failure), end;
  for (; !failure && entry != end; entry.increment(failure)) {
    names.push_back(entry->path().filename().string());
  }
  if (failure && failure != std::errc::no_such_file_or_directory) {
    throw_system_error("read", directory, failure.value());
  }
  return names;
}

// A read may fail only for a moment: a server restarts, or another process closes files.
template <typename Open>
auto with_patience(const Open& open) {
  using namespace std::chrono_literals;
  for (const auto pause : {20ms, 100ms, 500ms}) {
    try {
      return open();
    } catch (const FileError& failure) {
      if (!failure.may_pass()) throw;
    }
    std::this_thread::sleep_for(pause);
  }
  return open();
}

void check_step(const CheckpointDirectoryReader& checkpoint, std::int64_t step) {
  if (checkpoint.step() == step) return;
  throw RunError(fmt::format("{} contains step {}", checkpoint.description(), checkpoint.step()));
}

// Uses hard links if possible.
void copy_files(const std::filesystem::path& from, const std::filesystem::path& to) {
  const std::vector<std::string> names = names_in(from);
  if (names.empty()) throw RunError(from.string() + " no longer exists");
  for (const std::string& name : names) {
    std::error_code failure;
    std::filesystem::create_hard_link(from / name, to / name, failure);
    if (failure) std::filesystem::copy_file(from / name, to / name, failure);
    if (failure) throw_system_error("link", from / name, failure.value());
  }
  sync_directory(to);
}

}  // namespace

CheckpointManager::CheckpointManager(std::filesystem::path directory, CheckpointOptions options,
                                     Warn warn)
    : directory_(std::move(directory)), options_(std::move(options)), warn_(std::move(warn)) {}

CheckpointManager::~CheckpointManager() {
  if (writing_.valid()) writing_.wait();
}

std::filesystem::path CheckpointManager::path_of(std::int64_t step) const {
  return directory_ / checkpoint_name(step);
}

std::vector<std::int64_t> CheckpointManager::steps() const {
  std::vector<std::int64_t> steps;
  for (const std::string& name : names_in(directory_)) {
    if (const auto step = parse_checkpoint_name(name)) steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::unique_ptr<CheckpointDirectoryReader> CheckpointManager::newest() {
  return newest(std::numeric_limits<std::int64_t>::max());
}

std::unique_ptr<CheckpointDirectoryReader> CheckpointManager::newest(std::int64_t before) {
  auto reader = look(before);
  set_aside_damaged();
  return reader;
}

std::unique_ptr<CheckpointDirectoryReader> CheckpointManager::look() {
  return look(std::numeric_limits<std::int64_t>::max());
}

std::unique_ptr<CheckpointDirectoryReader> CheckpointManager::look(std::int64_t before) {
  wait();
  if (!continues_run()) return find_requested();
  passed_over_.clear();
  std::vector<std::int64_t> all = steps();
  std::erase_if(all, [&](std::int64_t step) { return step >= before; });
  for (auto step = all.rbegin(); step != all.rend(); ++step) {
    try {
      return open(*step);
    } catch (const FileError& failure) {
      if (failure.may_pass()) throw;
      passed_over_.emplace_back(*step, failure.message());
    } catch (const Error& failure) {
      passed_over_.emplace_back(*step, failure.message());
    }
  }
  if (passed_over_.empty()) return nullptr;
  std::string reasons;
  for (const auto& [step, reason] : std::exchange(passed_over_, {})) reasons += "\n  " + reason;
  throw UnusableCheckpoint(
      fmt::format("no checkpoint in {} can be used:{}", directory_.string(), reasons),
      {.hint = "move the directory away to start a new run, or restore it from a backup"});
}

// A reader must not change the directory.
std::unique_ptr<CheckpointDirectoryReader> CheckpointManager::find_requested() {
  const std::vector<std::int64_t> all = steps();
  if (all.empty() && !options_.step) return nullptr;
  const std::int64_t step = options_.step.value_or(all.empty() ? 0 : all.back());
  if (std::find(all.begin(), all.end(), step) == all.end()) {
    throw UsageError(fmt::format("{} has no checkpoint for step {}", directory_.string(), step),
                     {.hint = all.empty() ? "the run has no checkpoints"
                                          : fmt::format("the run has checkpoints for the steps {}",
                                                        fmt::join(all, ", "))});
  }
  try {
    return open(step);
  } catch (const FileError& failure) {
    if (failure.may_pass()) throw;
    throw UnusableCheckpoint(failure.message(), {.hint = kAskedHint});
  } catch (const Error& failure) {
    throw UnusableCheckpoint(failure.message(), {.hint = kAskedHint});
  }
}

std::unique_ptr<CheckpointDirectoryReader> CheckpointManager::open(std::int64_t step) {
  try {
    auto reader =
        with_patience([&] { return std::make_unique<CheckpointDirectoryReader>(path_of(step)); });
    check_step(*reader, step);
    current_ = step;
    return reader;
  } catch (const FileError& failure) {
    if (!failure.may_pass()) throw;
    throw FileError(failure.message() +
                        "; the checkpoint may be intact, so the run stops here and changes nothing",
                    {.hint = fmt::format("{}; to continue without it, move {} away", failure.hint(),
                                         path_of(step).string())},
                    failure.number());
  }
}

// Keeps its files for inspection.
std::string CheckpointManager::renamed(std::int64_t step, const std::string& prefix) {
  const std::filesystem::path aside = unused_path(directory_, prefix + checkpoint_name(step));
  std::error_code failure;
  std::filesystem::rename(path_of(step), aside, failure);
  if (failure) damaged_.insert(step);
  return failure ? "it cannot be renamed: " + failure.message() : "it is now " + aside.string();
}

void CheckpointManager::set_aside_damaged() {
  if (!continues_run()) return;
  for (const auto& [step, reason] : std::exchange(passed_over_, {})) {
    warnings_.push_back(fmt::format("checkpoint skipped: {}; {}", reason, renamed(step, kDamaged)));
  }
  remove_leftovers();
  give_warnings();
}

void CheckpointManager::leave(std::int64_t step) {
  warnings_.push_back(fmt::format("checkpoint of step {} skipped: training diverged from it; {}",
                                  step, renamed(step, kDiverged)));
  give_warnings();
}

void CheckpointManager::adopt(std::int64_t step, const std::filesystem::path& source) {
  adopt(step, [&](const std::filesystem::path& temporary) { copy_files(source, temporary); });
}

// Reads the links, not the source, which its process may replace at any time.
std::string CheckpointManager::adopt_if_whole(std::int64_t step,
                                              const std::filesystem::path& source) {
  struct Damaged {
    std::string reason;
  };
  try {
    adopt(step, [&](const std::filesystem::path& temporary) {
      copy_files(source, temporary);
      try {
        const auto linked = with_patience(
            [&] { return std::make_unique<CheckpointDirectoryReader>(temporary, source); });
        check_step(*linked, step);
      } catch (const FileError& failure) {
        if (failure.may_pass()) throw;
        throw Damaged{failure.message()};
      } catch (const Error& failure) {
        throw Damaged{failure.message()};  // not an Error, which would mean that a write failed
      }
    });
  } catch (const Damaged& damaged) {
    return damaged.reason;
  }
  return {};
}

void CheckpointManager::adopt(std::int64_t step, const Make& make) {
  wait();
  before_ = current_;
  replace(step, make);
  current_ = step;
  damaged_.erase(step);
  prune();
  give_warnings();
}

void CheckpointManager::remove(std::int64_t step) {
  wait();
  discard(path_of(step));
  give_warnings();
}

void CheckpointManager::outdate(std::int64_t step) {
  wait();
  if (current_ == step) current_.reset();
}

// A directory with this name is damaged, or belongs to steps that are trained again. rename cannot
// replace it, so it is removed first.
void CheckpointManager::publish(const std::filesystem::path& temporary, std::int64_t step) {
  std::error_code ignored;
  if (std::filesystem::exists(path_of(step), ignored)) discard(path_of(step));
  rename_path(temporary, path_of(step));
  sync_directory(directory_);
}

void CheckpointManager::remove_leftovers() {
  for (const std::string& name : names_in(directory_)) {
    if (name.starts_with(kLeftover)) discard(directory_ / name);
  }
}

// Renames it first, so that a kill during the removal leaves no incomplete checkpoint.
void CheckpointManager::discard(const std::filesystem::path& path) {
  std::error_code failure;
  std::filesystem::path doomed = path;
  const std::string name = path.filename().string();
  if (!name.starts_with(kLeftover)) {
    doomed = directory_ / fmt::format("{}old_{}", kLeftover, name);
    std::filesystem::remove_all(doomed, failure);
    std::filesystem::rename(path, doomed, failure);
    if (failure) {
      warnings_.push_back(fmt::format("cannot remove {}: {}", path.string(), failure.message()));
      return;
    }
  }
  std::filesystem::remove_all(doomed, failure);
  if (failure) {
    warnings_.push_back(fmt::format("cannot remove {}: {}", doomed.string(), failure.message()));
  }
}

// Warnings of the writer thread wait for the run thread.
void CheckpointManager::give_warnings() {
  for (const std::string& text : std::exchange(warnings_, {})) warn_(text);
}

}  // namespace trivet
