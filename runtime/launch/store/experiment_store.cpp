// SPDX-License-Identifier: Apache-2.0
#include "launch/store/experiment_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include "trivet/config/json.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

// The number at the start of a name, followed by its end or '-'. 0 if there is none.
std::int64_t experiment_number(const std::string& name) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || number < 0) return 0;
  return end == name.data() + name.size() || *end == '-' ? number : 0;
}

std::int64_t highest_experiment_number(const fs::path& directory) {
  std::int64_t highest = 0;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    highest = std::max(highest, experiment_number(entry->path().filename().string()));
  }
  return highest;
}

// While this object exists, only this process assigns numbers.
UniqueFd lock_numbers(const fs::path& root) {
  const fs::path file = root / ".trivet" / "lock";
  UniqueFd handle = open_file(file, O_RDWR | O_CREAT);
  lock_file(handle, file);
  return handle;
}

void make_new_directory(const fs::path& directory, bool may_be_there) {
  make_directories(directory.parent_path());
  if (::mkdir(directory.c_str(), 0777) == 0) return;
  std::error_code ignored;
  if (errno == EEXIST && may_be_there && fs::is_directory(directory, ignored)) return;
  if (errno == EEXIST) {
    throw RunError(
        directory.string() + " already exists",
        {.path = "xp.subdir_format.xp_dirname",
         .hint = "include {xid} in the name, so that every experiment has its own directory"});
  }
  throw_system_error("make", directory, errno);
}

}  // namespace

bool holds_experiment(const fs::path& directory) {
  std::error_code ignored;
  return fs::is_regular_file(directory / "experiment.json", ignored);
}

Value experiment_facts(const fs::path& directory) {
  const fs::path file = directory / "experiment.json";
  return value_from_json(read_text_file(file), file.string());
}

std::vector<std::string> recorded_plugin_dirs(const Value& facts) {
  std::vector<std::string> folders;
  const Value* list = facts.is_table() ? facts.find("plugin_dirs") : nullptr;
  if (list == nullptr || !list->is_array()) return folders;
  for (const Value& folder : list->items()) {
    if (folder.is_string()) folders.push_back(folder.as_string());
  }
  return folders;
}

bool stays_below(const fs::path& relative) {
  const fs::path path = relative.lexically_normal();
  return !path.is_absolute() && !path.empty() && path != "." && *path.begin() != ".." &&
         path.native().find('\0') == std::string::npos;
}

std::int64_t ExperimentStore::next_xid() const {
  return std::max(highest_experiment_number(root_), highest_experiment_number(index())) + 1;
}

void ExperimentStore::enter(const Location& location) const {
  const bool was_left =
      entry(location.xid) == location.directory && !holds_experiment(location.directory);
  // Writes the entry first: it records the owner of a directory without an experiment.
  const fs::path relative = location.directory.lexically_relative(root_);
  replace_file(index_file(location.xid), relative.string() + "\n", Durability::synced);
  try {
    make_new_directory(location.directory, was_left);
  } catch (...) {
    ::unlink(index_file(location.xid).c_str());
    throw;
  }
}

ExperimentStore::Location ExperimentStore::create(
    const std::function<fs::path(std::int64_t)>& directory_of) const {
  make_directories(index());
  const UniqueFd lock = lock_numbers(root_);
  Location location;
  location.xid = next_xid();
  location.directory = directory_of(location.xid);
  enter(location);
  return location;
}

ExperimentStore::Location ExperimentStore::create_as(std::int64_t xid,
                                                     const fs::path& directory) const {
  make_directories(index());
  const UniqueFd lock = lock_numbers(root_);
  const Location location{xid, directory};
  enter(location);
  return location;
}

// The entry of the number; nothing if this program did not write it.
std::optional<fs::path> ExperimentStore::entry(std::int64_t xid) const {
  std::error_code ignored;
  if (!fs::is_regular_file(index_file(xid), ignored)) return std::nullopt;
  std::string relative;
  try {
    relative = read_text_file(index_file(xid), 1 << 16);
  } catch (const RunError&) {
    return std::nullopt;
  }
  while (!relative.empty() && relative.back() == '\n') relative.pop_back();
  if (!stays_below(relative)) return std::nullopt;
  return (root_ / relative).lexically_normal();
}

std::optional<fs::path> ExperimentStore::find(std::int64_t xid) const {
  std::optional<fs::path> path = entry(xid);
  if (path && !holds_experiment(*path)) path.reset();
  return path;
}

bool ExperimentStore::is_unfinished(std::int64_t xid) const {
  const std::optional<fs::path> path = entry(xid);
  return path && !holds_experiment(*path);
}

std::vector<ExperimentStore::Location> ExperimentStore::entries(Entry wanted) const {
  std::vector<Location> locations;
  std::error_code error;
  for (fs::directory_iterator each(index(), error), end; !error && each != end;
       each.increment(error)) {
    const std::int64_t xid = experiment_number(each->path().filename().string());
    if (xid == 0) continue;
    auto path = entry(xid);
    std::error_code gone;
    if (!path || !fs::is_directory(*path, gone)) continue;
    const Entry is = holds_experiment(*path) ? Entry::experiment : Entry::left_by_launch;
    if (is == wanted) locations.push_back({xid, std::move(*path)});
  }
  std::sort(locations.begin(), locations.end(),
            [](const Location& a, const Location& b) { return a.xid < b.xid; });
  return locations;
}

}  // namespace trivet
