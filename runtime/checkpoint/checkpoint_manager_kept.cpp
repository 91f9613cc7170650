// SPDX-License-Identifier: Apache-2.0
// Which checkpoints a run keeps, and where the others go.
#include <chrono>
#include <set>
#include <system_error>
#include <vector>

#include <fmt/core.h>

#include "checkpoint/checkpoint_manager.h"
#include "trivet/os/file.h"

namespace trivet {

std::filesystem::path CheckpointManager::unused_path(const std::filesystem::path& directory,
                                                     const std::string& name) {
  std::filesystem::path path = directory / name;
  for (int copy = 2; is_there(path); ++copy) path = directory / fmt::format("{}.{}", name, copy);
  return path;
}

// A checkpoint's time is that of its state.json, so every process finds the same ones.
std::set<std::int64_t> CheckpointManager::always_kept(
    const std::vector<std::int64_t>& steps) const {
  std::set<std::int64_t> kept;
  std::optional<std::filesystem::file_time_type> last;
  const std::chrono::duration<double> distance(options_.keep_every.time.seconds);
  for (const std::int64_t step : steps) {
    if (!options_.keep_every.is_time()) {
      if (options_.keep_every.steps > 0 && step % options_.keep_every.steps == 0) kept.insert(step);
      continue;
    }
    std::error_code failure;
    const auto time = std::filesystem::last_write_time(path_of(step) / "state.json", failure);
    if (failure || damaged_.contains(step) || (last && time - *last < distance)) continue;
    kept.insert(step);
    last = time;
  }
  return kept;
}

void CheckpointManager::prune() {
  if (options_.max_to_keep == 0) return;
  std::vector<std::int64_t> all = steps();
  const std::set<std::int64_t> always = always_kept(all);
  std::int64_t kept = 0;
  for (auto step = all.rbegin(); step != all.rend(); ++step) {
    if (always.contains(*step)) continue;
    if (kept >= options_.max_to_keep) {
      retire(*step);
    } else if (!damaged_.contains(*step)) {
      ++kept;
    }
  }
}

void CheckpointManager::retire(std::int64_t step) {
  if (options_.todelete_subdir.empty()) {
    discard(path_of(step));
    return;
  }
  try {
    const std::filesystem::path folder = directory_ / options_.todelete_subdir;
    make_directories(folder);
    rename_path(path_of(step), unused_path(folder, checkpoint_name(step)));
  } catch (const FileError& failure) {
    warnings_.push_back(fmt::format("{} is no longer needed, but stays: {}", path_of(step).string(),
                                    failure.message()));
  }
}

}  // namespace trivet
