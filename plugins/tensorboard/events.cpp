// SPDX-License-Identifier: Apache-2.0
#include "events.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "event_messages.h"
#include "trivet/error.h"

namespace trivet::tensorboard {
namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

// The number in the name of an event file; -1 for other files.
std::int64_t number_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return -1;
  std::int64_t number = -1;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), number);
  return number;
}

std::vector<std::filesystem::path> event_files(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code failure;
  std::filesystem::directory_iterator entry(directory, failure), end;
  for (; !failure && entry != end; entry.increment(failure)) {
    if (number_of(entry->path().filename().string()) >= 0) files.push_back(entry->path());
  }
  // Other problems of the directory are reported when a file is created in it.
  const bool none =
      failure == std::errc::no_such_file_or_directory || failure == std::errc::not_a_directory;
  if (failure && !none) {
    throw RunError("cannot read " + directory.string() + ": " + failure.message());
  }
  return files;
}

std::filesystem::path next_file(const std::filesystem::path& directory) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  std::int64_t number = static_cast<std::int64_t>(now());
  std::filesystem::directory_iterator entry, end;
  if (!failure) entry = std::filesystem::directory_iterator(directory, failure);
  for (; !failure && entry != end; entry.increment(failure)) {
    number = std::max(number, number_of(entry->path().filename().string()) + 1);
  }
  if (failure) {
    throw RunError("cannot use the directory " + directory.string() + ": " + failure.message());
  }
  char digits[32];
  std::snprintf(digits, sizeof digits, "%010lld", static_cast<long long>(number));
  return directory /
         (std::string(kPrefix) + digits + "." + host_name() + "." + std::to_string(::getpid()));
}

}  // namespace

Events::Events(const Config&, SummaryWriterContext& context)
    : RunRecords(context.directory), directory_(context.directory / "events") {}

void Events::begin(std::int64_t step) {
  begin_ = step;
  for (auto& [group, file] : files_) append_start(file);
}

// Closes the files of this process: a reader may be past the cut, so new events go to new files.
void Events::cut_after(const RunPosition& last) {
  files_.clear();
  for (const char* const group : {"train", "eval"}) {
    const bool interrupted = !last.evaluated && std::string_view(group) == "eval";
    const std::int64_t step = last.step - (interrupted ? 1 : 0);
    for (const std::filesystem::path& file : event_files(directory_ / group)) {
      cut_records(file, [&](std::string_view event) {
        const std::optional<std::int64_t> of = step_of_event(event);
        if (!of) return RecordIs::head;
        return *of <= step ? RecordIs::counted : RecordIs::late;
      });
    }
  }
}

void Events::append_start(RecordFile& file) const {
  file.append(start_event({.time = now(), .step = *begin_ + 1}));
}

RecordFile& Events::file_of(std::string_view group) {
  if (const auto found = files_.find(group); found != files_.end()) return found->second;
  const auto added = files_.try_emplace(std::string(group), next_file(directory_ / group));
  RecordFile& file = added.first->second;
  file.append(version_event(now()));
  if (begin_) append_start(file);
  return file;
}

void Events::scalars(std::string_view group, std::int64_t step, const Logs& logs) {
  file_of(group).append(scalars_event({.time = now(), .step = step}, logs));
}

void Events::summaries(std::string_view group, std::int64_t step, const Summaries& summaries) {
  file_of(group).append(summaries_event({.time = now(), .step = step}, summaries));
}

void Events::flush() {
  for (auto& [group, file] : files_) file.sync();
}

}  // namespace trivet::tensorboard
