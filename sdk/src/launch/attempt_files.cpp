// SPDX-License-Identifier: Apache-2.0
#include "launch/attempt_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/launch/attempt.h"
#include "trivet/os/file.h"
#include "trivet/os/process.h"

namespace trivet::launch {
namespace {

namespace fs = std::filesystem;

std::optional<Value> read_table(const fs::path& file) {
  if (::access(file.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
    return std::nullopt;
  }
  const std::string text = read_text_file(file, 1 << 20);
  try {
    Value value = value_from_json(text, file.string());
    if (value.is_table()) return value;
  } catch (const RunError&) {
    // The rename reached the disk before the content did.
  }
  return std::nullopt;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

struct flock whole_file(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

bool StartRecord::is_here() const {
  return host == host_name() && boot_id == trivet::boot_id();
}

fs::path attempt_directory(const Job& job, std::int64_t attempt) {
  return job.directory / std::to_string(attempt);
}

std::optional<StartRecord> read_start(const fs::path& directory) {
  const std::optional<Value> table = read_table(directory / "started.json");
  if (!table) return std::nullopt;
  return StartRecord{.process = static_cast<pid_t>(table->integer_or("pid", 0)),
                     .process_ticks = table->integer_or("start_ticks", 0),
                     .shim = static_cast<pid_t>(table->integer_or("shim", 0)),
                     .shim_ticks = table->integer_or("shim_ticks", 0),
                     .boot_id = table->string_or("boot_id"),
                     .host = table->string_or("host"),
                     .processes = table->integer_or("processes", 0),
                     .time = table->float_or("time", 0)};
}

std::optional<EndRecord> read_end(const fs::path& directory) {
  const std::optional<Value> table = read_table(directory / "exit.json");
  if (!table) return std::nullopt;
  EndRecord record;
  record.signal = static_cast<int>(table->integer_or("signal", 0));
  record.reason = table->string_or("reason");
  record.time = table->float_or("time", 0);
  record.host = table->string_or("host");
  if (table->find("exit_code") != nullptr) {
    record.exit_code = static_cast<int>(table->integer_or("exit_code", 0));
  }
  return record;
}

std::optional<EndRequest> read_end_request(const fs::path& directory) {
  const std::optional<Value> table = read_table(directory / "end.json");
  if (!table) return std::nullopt;
  return EndRequest{table->string_or("reason"), std::max(0.0, table->float_or("grace_seconds", 0))};
}

std::string start_record_head(const StartRecord& record) {
  std::string text = to_json(Value::table({{"shim", record.shim},
                                           {"shim_ticks", record.shim_ticks},
                                           {"boot_id", record.boot_id},
                                           {"host", record.host},
                                           {"processes", record.processes},
                                           {"time", record.time}}));
  text.pop_back();  // the closing brace
  return text;
}

bool replace_file_at(int directory, const char* name, std::string_view text) {
  const std::string half = std::string(name) + ".tmp";
  {
    const UniqueFd file(
        ::openat(directory, half.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!file || !write_all(file.get(), text)) return false;
  }
  return ::renameat(directory, half.c_str(), directory, name) == 0;
}

bool write_end(int directory, const EndRecord& record) {
  Value table = Value::table();
  if (record.exit_code) {
    table.set("exit_code", *record.exit_code);
  } else {
    table.set("signal", record.signal);
  }
  table.set("reason", record.reason);
  table.set("time", record.time);
  table.set("host", record.host);
  return replace_file_at(directory, "exit.json", to_json(table) + "\n");
}

std::string read_done_words(int directory) {
  constexpr std::size_t kMost = 500;
  const UniqueFd file(::openat(directory, kDoneFile, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::string text(kMost, '\0');
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : 0;
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return text.substr(0, text.find('\n'));
}

void write_end_request(const fs::path& directory, const EndRequest& request) {
  // Several may ask at once, so each has a temporary file of its own.
  const std::string half = "end.json." + std::to_string(::getpid());
  const UniqueFd folder(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Value table =
      Value::table({{"reason", request.reason}, {"grace_seconds", request.grace_seconds}});
  if (!folder || !replace_file_at(folder.get(), half.c_str(), to_json(table) + "\n") ||
      ::renameat(folder.get(), half.c_str(), folder.get(), "end.json") != 0) {
    throw_errno("write", directory / "end.json", errno);
  }
}

bool take_lock(int lock) {
  struct flock whole = whole_file(F_WRLCK);
  return ::fcntl(lock, F_OFD_SETLK, &whole) == 0;
}

bool is_locked(const fs::path& directory) {
  const fs::path path = directory / "lock";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && (errno == ENOENT || errno == ENOTDIR)) return false;
  if (!file) throw_errno("read", path, errno);
  // Asks without taking it, so that a look never blocks a start.
  struct flock whole = whole_file(F_WRLCK);
  if (::fcntl(file.get(), F_OFD_GETLK, &whole) != 0) throw_errno("look at", path, errno);
  return whole.l_type != F_UNLCK;
}

void throw_errno(std::string_view action, const fs::path& path, int number) {
  try {
    throw_system_error(action, path, number);
  } catch (const FileError& failure) {
    // Without its hint, which is for a run and what it writes.
    if (failure.is_shortage()) throw RetryError(failure.message());
    throw RunError(failure.message());
  }
}

}  // namespace trivet::launch
