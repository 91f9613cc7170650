// SPDX-License-Identifier: Apache-2.0
#include "trivet/train/run_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <mutex>
#include <utility>
#include <vector>

#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

UniqueFd opened(const std::filesystem::path& path) {
  return open_file(path, O_WRONLY | O_CREAT | O_APPEND);
}

// Calls use(line, whole) for every line, the end of line left out; `whole` tells whether it has
// one.
template <typename Use>
void for_lines(const std::filesystem::path& path, const Use& use) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw_system_error("read", path, errno);
  std::string line;
  while (std::getline(in, line)) use(line, !in.eof());
  if (in.bad()) throw_system_error("read", path, EIO);
}

// Keeps the lines for which `keeps` is true.
template <typename Keeps>
void cut_lines(const std::filesystem::path& path, const Keeps& keeps) {
  if (!is_there(path)) return;
  std::uint64_t first = 0;  // bytes before the first line that goes
  bool cut = false;
  std::string behind;  // lines that stay behind it
  for_lines(path, [&](const std::string& line, bool whole) {
    const bool stays = whole && keeps(line);
    if (!stays) {
      cut = true;
    } else if (cut) {
      behind.append(line).append(1, '\n');
    } else {
      first += line.size() + 1;
    }
  });
  if (!cut) return;
  if (!behind.empty()) {
    replace_file(path,
                 read_text_file(path, first + (std::uint64_t{1} << 32)).substr(0, first) + behind);
  } else if (::truncate(path.c_str(), static_cast<off_t>(first)) != 0) {
    throw_system_error("write", path, errno);
  }
}

}  // namespace

// All that are alive.
class RunRecordsOf {
 public:
  static void add(RunRecords* records) {
    const std::lock_guard lock(mutex());
    all().push_back(records);
  }
  static void remove(RunRecords* records) {
    const std::lock_guard lock(mutex());
    std::erase(all(), records);
  }
  static std::vector<RunRecords*> run(const std::filesystem::path& directory) {
    const std::lock_guard lock(mutex());
    const std::filesystem::path run = normal(directory);
    std::vector<RunRecords*> found;
    for (RunRecords* const records : all()) {
      const std::filesystem::path own = normal(records->directory_);
      if (std::mismatch(run.begin(), run.end(), own.begin(), own.end()).first == run.end()) {
        found.push_back(records);
      }
    }
    return found;
  }

 private:
  static std::filesystem::path normal(const std::filesystem::path& directory) {
    const std::filesystem::path plain = directory.lexically_normal();
    return plain.has_filename() ? plain : plain.parent_path();  // "a/" is "a"
  }
  static std::vector<RunRecords*>& all() {
    static std::vector<RunRecords*> records;
    return records;
  }
  static std::mutex& mutex() {
    static std::mutex own;
    return own;
  }
};

RunRecords::RunRecords(const std::filesystem::path& directory) : directory_(directory) {
  RunRecordsOf::add(this);
}

RunRecords::~RunRecords() {
  RunRecordsOf::remove(this);
}

void cut_run_records(const std::filesystem::path& directory, const RunPosition& last) {
  for (RunRecords* const records : RunRecordsOf::run(directory)) records->cut_after(last);
}

void sync_run_records(const std::filesystem::path& directory) {
  for (RunRecords* const records : RunRecordsOf::run(directory)) records->sync();
}

RunLog::RunLog(const std::filesystem::path& directory, const std::string& name, Of of)
    : RunRecords(directory), path_(directory / name), of_(of) {}

void RunLog::append(std::int64_t step, const Value& fields) {
  if (!std::exchange(opened_, true)) {
    cut_lines(path_, [](const std::string&) { return true; });
  }
  Value line = Value::table({{"step", step}});
  for (const Value::Member& member : fields.members()) line.set(member.key, member.value);
  append_all(opened(path_), to_json(line) + "\n", path_);
  dirty_ = true;
}

void RunLog::cut_after(const RunPosition& last) {
  cut_lines(path_, [&](const std::string& line) { return counts(line, last); });
  opened_ = true;
}

// A line without a step is none of ours, and stays.
bool RunLog::counts(const std::string& line, const RunPosition& last) const {
  std::int64_t step = -1;
  try {
    const Value record = value_from_json(line, path_.string());
    const Value* const found = record.is_table() ? record.find("step") : nullptr;
    if (found == nullptr) return true;
    step = found->as_integer();
  } catch (const Error&) {
    return true;
  }
  if (step == last.step && of_ == Of::evaluation) return last.evaluated;
  return step <= last.step;
}

void RunLog::sync() {
  if (std::exchange(dirty_, false)) sync_file(opened(path_), path_);
}

}  // namespace trivet
