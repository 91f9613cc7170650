// SPDX-License-Identifier: Apache-2.0
#include "rundir/run_status.h"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <limits>
#include <optional>

#include "base/process_info.h"
#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

// Six missed heartbeats (StatusFile::start_heartbeat).
constexpr double kSilentAfter = 30;
constexpr int kDepth = 4;
constexpr std::uint64_t kMostStatusBytes = 1 << 20;
// Enough for hundreds of records after the last evaluation. Listings read thousands of files.
constexpr std::uint64_t kMostMetricsBytes = 1 << 20;

bool is_working(std::string_view state) {
  constexpr std::array<std::string_view, 5> kStates = {"starting", "running", "saving",
                                                       "evaluating", "waiting"};
  return std::find(kStates.begin(), kStates.end(), state) != kStates.end();
}

bool has_process(std::int64_t pid) {
  if (pid < 1 || pid > std::numeric_limits<pid_t>::max()) return false;
  return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

// Skips trivet's own directories in a run.
bool may_hold_runs(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  if (name.starts_with('.') || name == "checkpoints" || name == "best" || name == "events") {
    return false;
  }
  std::error_code ignored;
  return entry.is_directory(ignored) && !entry.is_symlink(ignored);
}

void collect(const fs::path& directory, int depth, const std::set<fs::path>& left_out,
             std::vector<fs::path>& runs) {
  if (left_out.contains(directory)) return;
  if (is_run(directory)) runs.push_back(directory);
  if (depth == 0) return;
  std::error_code failure;
  fs::directory_iterator entry(directory, failure), end;
  for (; !failure && entry != end; entry.increment(failure)) {
    if (may_hold_runs(*entry)) collect(entry->path(), depth - 1, left_out, runs);
  }
}

bool is_decimal_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Removes the digits at the front of `text` and returns them without leading zeros.
std::string_view take_digits(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_decimal_digit(text[end])) ++end;
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (is_decimal_digit(a[0]) && is_decimal_digit(b[0])) {
      const std::string_view left = take_digits(a), right = take_digits(b);
      if (left.size() != right.size()) return left.size() < right.size();
      if (left != right) return left < right;
      continue;
    }
    if (a[0] != b[0]) return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]);
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() < b.size();
}

std::string judged_state(std::string_view reported, const SignOfLife& sign) {
  if (!is_working(reported)) return std::string(reported);
  if (sign.same_host && (!sign.same_boot || !sign.has_process)) return "lost";
  return sign.age > kSilentAfter ? "silent" : std::string(reported);
}

bool is_run(const fs::path& directory) {
  std::error_code ignored;
  return fs::is_regular_file(directory / "status.json", ignored);
}

std::vector<fs::path> find_runs(const fs::path& root, const std::set<fs::path>& left_out) {
  std::error_code failure;
  const fs::directory_iterator readable(root, failure);
  if (failure) throw_system_error("read the directory", root, failure.value());
  std::vector<fs::path> runs;
  collect(root, kDepth, left_out, runs);
  std::sort(runs.begin(), runs.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.native(), b.native());
  });
  return runs;
}

void read_status(const fs::path& file, RunStatus& info) {
  const Value status = value_from_json(read_text_file(file, kMostStatusBytes), file.string());
  info.reported = status.string_or("state");
  info.mode = status.string_or("mode");
  info.host = status.string_or("host");
  info.boot_id = status.string_or("boot_id");
  info.message = status.string_or("message");
  info.step = status.integer_or("step", -1);
  info.target = status.integer_or("target", -1);
  info.attempt = status.integer_or("attempt", -1);
  info.pid = status.integer_or("pid", -1);
  info.started = status.float_or("started", -1);
  info.time = status.float_or("time", -1);
  judge_state(info);
}

void judge_state(RunStatus& info) {
  info.state = "unknown";
  if (info.reported.empty()) return;
  static const std::string here = host_name(), boot = boot_id();
  const bool same_host = info.host == here;
  info.state = judged_state(info.reported, {.age = unix_time() - info.time,
                                            .same_host = same_host,
                                            .same_boot = same_host && info.boot_id == boot,
                                            .has_process = same_host && has_process(info.pid)});
}

RunStatus run_info(const fs::path& directory) {
  RunStatus info;
  info.path = directory;
  info.state = "unknown";
  const fs::path status = directory / "status.json";
  try {
    read_status(status, info);
    info.last = last_records(directory / "metrics.jsonl", kMostMetricsBytes);
    // A process that was killed had not yet written its last steps to status.json.
    for (const auto& record : {info.last.train, info.last.eval}) {
      if (record) info.step = std::max(info.step, record->step);
    }
  } catch (const Error& unreadable) {
    info.problem = unreadable.message();
  }
  return info;
}

}  // namespace trivet
