// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint_manager.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "train/file_io.h"
#include "trivet/error.h"

namespace trivet {
namespace {

// Names of directories that are not, or no longer, checkpoints start like this.
constexpr std::string_view kLeftover = ".tmp_";
constexpr std::string_view kPrefix = "step_";

std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string digits = name.substr(kPrefix.size());
  if (digits.empty() || digits.size() > 18) return std::nullopt;
  if (digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::stoll(digits);
}

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

}  // namespace

CheckpointManager::CheckpointManager(std::filesystem::path directory, std::int64_t max_to_keep,
                                     Warn warn)
    : directory_(std::move(directory)), max_to_keep_(max_to_keep), warn_(std::move(warn)) {}

std::filesystem::path CheckpointManager::path_of(std::int64_t step) const {
  return directory_ / fmt::format("{}{:08}", kPrefix, step);
}

std::vector<std::int64_t> CheckpointManager::steps() const {
  std::vector<std::int64_t> steps;
  for (const std::string& name : names_in(directory_)) {
    // Only the one spelling that save() gives a step, so that path_of finds it again.
    if (auto step = step_of(name); step && path_of(*step).filename() == name) {
      steps.push_back(*step);
    }
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::unique_ptr<CheckpointDirectoryReader> CheckpointManager::newest() {
  remove_leftovers();
  std::vector<std::int64_t> all = steps();
  std::vector<std::string> reasons;
  for (auto step = all.rbegin(); step != all.rend(); ++step) {
    try {
      auto reader = std::make_unique<CheckpointDirectoryReader>(path_of(*step));
      if (reader->step() != *step) {
        throw RunError(fmt::format("{} holds step {}", path_of(*step).string(), reader->step()));
      }
      for (const std::string& reason : reasons) warn_("checkpoint passed over: " + reason);
      current_ = *step;
      return reader;
    } catch (const Error& failure) {
      damaged_.insert(*step);
      reasons.push_back(failure.message());
    }
  }
  if (reasons.empty()) return nullptr;
  throw RunError(fmt::format("no checkpoint in {} can be used:\n  {}", directory_.string(),
                             fmt::join(reasons, "\n  ")),
                 {.hint = "move the directory away to start anew, or restore it from a backup"});
}

std::optional<SavedCheckpoint> CheckpointManager::save(std::int64_t step, const Fill& fill) {
  if (current_ == step) return std::nullopt;
  const auto start = std::chrono::steady_clock::now();
  const std::filesystem::path temporary = directory_ / fmt::format("{}{:08}", kLeftover, step);
  SavedCheckpoint saved{.step = step, .path = path_of(step)};
  try {
    make_directories(directory_);
    discard(temporary);
    make_directories(temporary);
    CheckpointDirectoryWriter writer(temporary);
    fill(writer);
    writer.finish(step);
    saved.bytes = writer.bytes();
    publish(temporary, step);
  } catch (Error& failure) {
    discard(temporary);
    const std::string kept =
        current_ ? path_of(*current_).string() + " is untouched" : "there is no earlier one";
    throw RunError(
        fmt::format("checkpoint of step {} not saved: {}; {}", step, failure.message(), kept),
        failure.details());
  } catch (...) {
    discard(temporary);
    throw;
  }
  current_ = step;
  damaged_.erase(step);
  prune();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  saved.seconds = elapsed.count();
  return saved;
}

// A directory that has the name already is a damaged one, or belongs to steps that are being done
// again after one: rename cannot replace it, so it goes first.
void CheckpointManager::publish(const std::filesystem::path& temporary, std::int64_t step) {
  std::error_code ignored;
  if (std::filesystem::exists(path_of(step), ignored)) discard(path_of(step));
  rename_path(temporary, path_of(step));
  sync_directory(directory_);
}

void CheckpointManager::prune() {
  if (max_to_keep_ == 0) return;
  std::vector<std::int64_t> all = steps();
  std::int64_t kept = 0;
  for (auto step = all.rbegin(); step != all.rend(); ++step) {
    if (kept >= max_to_keep_) {
      discard(path_of(*step));
    } else if (!damaged_.contains(*step)) {
      ++kept;
    }
  }
}

void CheckpointManager::remove_leftovers() {
  for (const std::string& name : names_in(directory_)) {
    if (name.starts_with(kLeftover)) discard(directory_ / name);
  }
}

// Under another name first: a kill in the middle of the removal leaves no half checkpoint.
void CheckpointManager::discard(const std::filesystem::path& path) {
  std::error_code failure;
  std::filesystem::path doomed = path;
  const std::string name = path.filename().string();
  if (!name.starts_with(kLeftover)) {
    doomed = directory_ / fmt::format("{}old_{}", kLeftover, name);
    std::filesystem::remove_all(doomed, failure);
    std::filesystem::rename(path, doomed, failure);
    if (failure) {
      warn_(fmt::format("cannot remove {}: {}", path.string(), failure.message()));
      return;
    }
  }
  std::filesystem::remove_all(doomed, failure);
  if (failure) warn_(fmt::format("cannot remove {}: {}", doomed.string(), failure.message()));
}

}  // namespace trivet
