// SPDX-License-Identifier: Apache-2.0
#include "submissions.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <random>
#include <system_error>

#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet::slurm {
namespace {

namespace fs = std::filesystem;

fs::path directory_of(const fs::path& experiment) {
  return experiment / "slurm";
}

// squeue filters by and prints names; blanks and commas would be lost.
std::string plain_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
    name += is_plain ? c : '_';
  }
  return name.substr(0, 40);
}

std::string token() {
  constexpr const char* kDigits = "0123456789abcdef";
  std::random_device random;
  std::string text;
  for (int i = 0; i < 16; ++i) text += kDigits[random() % 16];
  return text;
}

std::string job_id_in(const fs::path& directory) {
  const fs::path file = directory / "job_id";
  if (::access(file.c_str(), F_OK) != 0 && errno == ENOENT) return {};
  std::string text = read_text_file(file, 1 << 10);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

Submission submission_in(const fs::path& directory) {
  Submission submission;
  submission.directory = directory;
  const std::string file = submission.array_file().string();
  const Value table = value_from_json(read_text_file(file), file);
  submission.array = launch::job_array_from(table);
  const Value* name = table.find("name");
  const Value* user = table.find("user");
  const Value* attempts = table.find("attempts");
  if (name == nullptr || !name->is_string() || user == nullptr || !user->is_integer() ||
      attempts == nullptr || !attempts->is_array() ||
      attempts->items().size() != submission.array.wids.size()) {
    throw RunError(file + " is not a submission");
  }
  submission.name = name->as_string();
  submission.user = user->as_integer();
  for (const Value& attempt : attempts->items()) {
    submission.attempts.push_back(attempt.as_integer());
  }
  submission.job_id = job_id_in(directory);
  return submission;
}

Value to_value(const Submission& submission) {
  Value table = launch::to_value(submission.array);
  Value attempts = Value::array_of(submission.attempts);
  table.set("name", submission.name);
  table.set("user", submission.user);
  table.set("attempts", attempts);
  return table;
}

void make_directory(const fs::path& path) {
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) {
    throw_system_error("make", path, errno);
  }
}

}  // namespace

fs::path Submission::log(std::int64_t task) const {
  return directory / (std::to_string(task) + ".log");
}

fs::path Submission::releases_file(std::int64_t task) const {
  return directory / (std::to_string(task) + ".released");
}

std::string TaskLocation::id() const {
  return submission->job_id + "_" + std::to_string(task);
}

Submissions::Submissions(const fs::path& experiment) : directory_(directory_of(experiment)) {
  std::vector<std::int64_t> numbers;
  std::error_code error;
  for (fs::directory_iterator entry(directory_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::int64_t number = 0;
    const auto [stop, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failure == std::errc() && stop == name.data() + name.size()) numbers.push_back(number);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    throw_system_error("read", directory_, error.value());
  }
  std::sort(numbers.begin(), numbers.end());
  for (const std::int64_t number : numbers) {
    last_ = number;
    const fs::path directory = directory_ / std::to_string(number);
    std::error_code ignored;
    // Void, or not yet written when its submitter was killed.
    if (!fs::exists(directory / "array.json", ignored)) continue;
    all_.push_back(submission_in(directory));
    enter(all_.back());
  }
}

void Submissions::enter(const Submission& submission) {
  const std::vector<std::int64_t>& wids = submission.array.wids;
  for (std::size_t task = 0; task < wids.size(); ++task) {
    if (wids[task] == 0) continue;
    locations_[{wids[task], submission.array.job}] = {&submission, static_cast<std::int64_t>(task)};
  }
}

Submission& Submissions::create(Submission submission, const ScriptFor& script_for) {
  submission.directory = directory_ / std::to_string(++last_);
  submission.name = plain_name(submission.array.job) + "-" +
                    plain_name(submission.array.experiment.filename().string()) + "-" + token();
  submission.user = ::getuid();
  make_directory(submission.directory);
  replace_file(submission.script_file(), script_for(submission.array_file()));
  replace_file(submission.array_file(), to_json(to_value(submission)) + "\n");
  all_.push_back(std::move(submission));
  enter(all_.back());
  return all_.back();
}

void Submissions::set_job_id(Submission& submission, const std::string& job_id) {
  replace_file(submission.directory / "job_id", job_id + "\n");
  submission.job_id = job_id;
}

void Submissions::make_void(Submission& submission) {
  rename_path(submission.array_file(), submission.directory / "array.void.json");
  std::erase_if(locations_,
                [&](const auto& entry) { return entry.second.submission == &submission; });
}

std::optional<TaskLocation> Submissions::find(std::int64_t wid, const std::string& job) const {
  const auto found = locations_.find({wid, job});
  return found == locations_.end() ? std::nullopt : std::optional(found->second);
}

SubmitLock::SubmitLock(const fs::path& experiment) {
  const fs::path directory = directory_of(experiment);
  make_directory(directory);
  const fs::path file = directory / "lock";
  lock_ = open_file(file, O_RDWR | O_CREAT);
  lock_file(lock_, file);
}

}  // namespace trivet::slurm
