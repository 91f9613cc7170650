// SPDX-License-Identifier: Apache-2.0
#include "rundir/status_file.h"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "base/process_info.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

// A missing or unreadable status is ignored: it is only a report.
std::string text_there(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  try {
    return read_text_file(path);
  } catch (const Error&) {
    return {};
  }
}

std::int64_t last_attempt(const std::string& text) {
  if (text.empty()) return 0;
  try {
    return value_from_json(text, "status.json").integer_or("attempt", 0);
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace

StatusFile::StatusFile(std::filesystem::path path, std::string mode, std::int64_t target)
    : path_(std::move(path)),
      mode_(std::move(mode)),
      target_(target),
      started_(unix_time()),
      before_(text_there(path_)),
      attempt_(last_attempt(before_) + 1) {}

StatusFile::~StatusFile() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void StatusFile::set_state(std::string_view state, std::string_view message) {
  std::lock_guard lock(mutex_);
  state_ = state;
  message_ = message;
  write();
}

bool StatusFile::put_back() {
  std::lock_guard lock(mutex_);
  if (before_.empty()) return false;
  replace_file(path_, before_, Durability::cached);
  return true;
}

void StatusFile::set_step(std::int64_t step) {
  std::lock_guard lock(mutex_);
  step_ = step;
}

void StatusFile::start_heartbeat(double seconds) {
  if (!thread_.joinable()) thread_ = std::thread([this, seconds] { beat(seconds); });
}

std::string StatusFile::take_heartbeat_error() {
  std::lock_guard lock(mutex_);
  return std::exchange(heartbeat_error_, {});
}

void StatusFile::beat(double seconds) {
  std::unique_lock lock(mutex_);
  const std::chrono::duration<double> interval(seconds);
  while (!wake_.wait_for(lock, interval, [this] { return stop_; })) {
    try {
      write();
    } catch (const Error& failure) {
      heartbeat_error_ = failure.message();
    }
  }
}

void StatusFile::write() {
  static const std::string host = host_name();
  static const std::string boot = boot_id();
  const Value status = Value::table({{"state", state_},
                                     {"step", step_},
                                     {"target", target_},
                                     {"mode", mode_},
                                     {"attempt", attempt_},
                                     {"time", unix_time()},
                                     {"started", started_},
                                     {"pid", static_cast<std::int64_t>(::getpid())},
                                     {"host", host},
                                     {"boot_id", boot},
                                     {"message", message_}});
  replace_file(path_, to_json(status, JsonStyle::indented), Durability::cached);
}

}  // namespace trivet
