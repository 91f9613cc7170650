// SPDX-License-Identifier: Apache-2.0
// The files of an attempt's directory, for those who write them and those who read them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "trivet/launch/job.h"
#include "trivet/os/file.h"

namespace trivet::launch {

// What a job with Job::tells_done makes in the directory.
inline constexpr const char* kDoneFile = "done";

struct StartRecord {
  pid_t process = 0;
  std::int64_t process_ticks = 0;
  pid_t shim = 0;
  std::int64_t shim_ticks = 0;
  std::string boot_id{};
  std::string host{};
  std::int64_t processes = 0;
  double time = 0;

  bool is_here() const;  // this machine, and since its last start
};

struct EndRecord {
  std::optional<int> exit_code{};
  int signal = 0;
  std::string reason{};
  double time = 0;
  std::string host{};
};

struct EndRequest {
  std::string reason;
  double grace_seconds = 0;
};

std::filesystem::path attempt_directory(const Job& job, std::int64_t attempt);

// Nothing for a file that is not there, or is damaged as a power cut may leave it. RunError for one
// that cannot be read.
std::optional<StartRecord> read_start(const std::filesystem::path& directory);
std::optional<EndRecord> read_end(const std::filesystem::path& directory);
std::optional<EndRequest> read_end_request(const std::filesystem::path& directory);

// started.json in two parts: its own process id and start are known to the job's process only.
std::string start_record_head(const StartRecord& record);

// Through a temporary file and a rename in the directory that is open as `directory`; false with
// errno when that fails.
bool replace_file_at(int directory, const char* name, std::string_view text);
bool write_end(int directory, const EndRecord& record);
// What the job says in the file kDoneFile of the open directory: its first line, at most 500 bytes.
// Empty when the file cannot be read.
std::string read_done_words(int directory);
void write_end_request(const std::filesystem::path& directory, const EndRequest& request);

// Takes the lock on an open file, for as long as that, or an inherited copy of it, is open; false
// when somebody has it.
bool take_lock(int lock);
bool is_locked(const std::filesystem::path& directory);

// Throws the RunError for errno, or the RetryError where it is of a shortage.
[[noreturn]] void throw_errno(std::string_view action, const std::filesystem::path& path,
                              int number);

}  // namespace trivet::launch
