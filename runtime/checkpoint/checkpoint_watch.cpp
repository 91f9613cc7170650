// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_watch.h"

#include <chrono>
#include <ctime>
#include <thread>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/core.h>

#include "base/format.h"
#include "base/process_info.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

constexpr std::chrono::milliseconds kPoll{200};

std::string clock_text(double unix_seconds) {
  return fmt::format("{:%H:%M:%S}", fmt::localtime(static_cast<std::time_t>(unix_seconds)));
}

}  // namespace

CheckpointWatch::CheckpointWatch(std::filesystem::path run, double timeout, Parts parts)
    : run_(std::move(run)), timeout_(timeout), parts_(std::move(parts)) {}

std::filesystem::path CheckpointWatch::checkpoints() const {
  const bool plain = !CheckpointManager(run_, {}, nullptr).steps().empty();
  return plain ? run_ : run_ / "checkpoints";
}

std::filesystem::path CheckpointWatch::path() const {
  return CheckpointManager(checkpoints(), {}, nullptr).path_of(step_);
}

bool CheckpointWatch::exists() const {
  std::error_code ignored;
  return std::filesystem::exists(path(), ignored);
}

bool CheckpointWatch::take(CheckpointManager& checkpoints) {
  std::string damage;
  try {
    damage = checkpoints.adopt_if_whole(step_, path());
  } catch (const RunError&) {
    // The run removed it after saving a newer one, which is tried next.
    if (exists()) throw;
    return false;
  }
  if (damage.empty()) return true;
  // A checkpoint that was removed while it was linked is incomplete, but not damaged.
  if (exists()) {
    parts_.warn("checkpoint skipped: " + damage);
    passed_over_.insert(step_);
  }
  return false;
}

std::optional<std::int64_t> CheckpointWatch::newest_after(std::int64_t after) const {
  const std::vector<std::int64_t> steps = CheckpointManager(checkpoints(), {}, nullptr).steps();
  for (auto step = steps.rbegin(); step != steps.rend() && *step > after; ++step) {
    if (!passed_over_.contains(*step)) return *step;
  }
  return std::nullopt;
}

std::string CheckpointWatch::writer_state() const {
  const auto file = run_ / "status.json";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return {};
  try {
    return value_from_json(read_text_file(file), file.string()).string_or("state");
  } catch (const Error&) {
    return {};  // only a report: an unreadable one is ignored
  }
}

void CheckpointWatch::announce(std::int64_t after) const {
  const std::string what =
      after < 0 ? "a checkpoint" : fmt::format("one newer than step {}", after);
  const std::string state = writer_state();
  parts_.say(fmt::format("waiting in {} for {} until {} (at most {}){}", checkpoints().string(),
                         what, clock_text(unix_time() + timeout_), format_duration(timeout_),
                         state.empty() ? "" : "; the run reports " + state));
}

CheckpointWatch::Found CheckpointWatch::wait_for(std::int64_t after) {
  const double start = steady_seconds();
  bool announced = false;
  while (true) {
    // In this order: a writer saves its last checkpoint before it reports that it is done.
    const bool finished = writer_state() == "done";
    if (const auto newest = newest_after(after)) {
      step_ = *newest;
      return Found::checkpoint;
    }
    if (finished) return Found::finished;
    if (parts_.must_stop()) return Found::stopped;
    if (steady_seconds() - start >= timeout_) return Found::timeout;
    if (!std::exchange(announced, true)) announce(after);
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace trivet
