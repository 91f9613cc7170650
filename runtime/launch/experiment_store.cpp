// SPDX-License-Identifier: Apache-2.0
#include "launch/experiment_store.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "train/file_io.h"
#include "trivet/error.h"

namespace trivet {
namespace {

namespace fs = std::filesystem;

// The number a name begins with, which ends there or at '-'; 0 if there is none.
std::int64_t number_of(const std::string& name) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || number < 0) return 0;
  return end == name.data() + name.size() || *end == '-' ? number : 0;
}

std::int64_t highest_number(const fs::path& directory) {
  std::int64_t highest = 0;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    highest = std::max(highest, number_of(entry->path().filename().string()));
  }
  return highest;
}

// Until the end of its life, this process alone gives numbers.
FileHandle lock_numbers(const fs::path& root) {
  const fs::path file = root / ".trivet" / "lock";
  FileHandle handle = open_file(file, O_RDWR | O_CREAT);
  while (::flock(handle.get(), LOCK_EX) != 0) {
    if (errno != EINTR) throw_system_error("cannot lock", file, errno);
  }
  return handle;
}

void make_new_directory(const fs::path& directory) {
  make_directories(directory.parent_path());
  if (::mkdir(directory.c_str(), 0777) == 0) return;
  if (errno == EEXIST) {
    throw RunError(directory.string() + " is there already",
                   {.path = "xp.subdir_format.xp_dirname",
                    .hint = "take {xid} into the name, so that every experiment has its own"});
  }
  throw_system_error("cannot make", directory, errno);
}

}  // namespace

std::int64_t ExperimentStore::next_xid() const {
  return std::max(highest_number(root_), highest_number(index())) + 1;
}

void ExperimentStore::enter(const Place& place) const {
  make_new_directory(place.directory);
  const fs::path relative = place.directory.lexically_relative(root_);
  replace_file(index() / std::to_string(place.xid), relative.string() + "\n", Durability::synced);
}

ExperimentStore::Place ExperimentStore::create(
    const std::function<fs::path(std::int64_t)>& directory_of) const {
  make_directories(index());
  const FileHandle lock = lock_numbers(root_);
  Place place;
  place.xid = next_xid();
  place.directory = directory_of(place.xid);
  enter(place);
  return place;
}

ExperimentStore::Place ExperimentStore::create_as(std::int64_t xid,
                                                  const fs::path& directory) const {
  make_directories(index());
  const FileHandle lock = lock_numbers(root_);
  const Place place{xid, directory};
  enter(place);
  return place;
}

std::optional<fs::path> ExperimentStore::find(std::int64_t xid) const {
  const fs::path file = index() / std::to_string(xid);
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  std::string relative = read_text(file, 1 << 16);
  while (!relative.empty() && relative.back() == '\n') relative.pop_back();
  const fs::path path = (root_ / relative).lexically_normal();
  if (!fs::is_directory(path, ignored)) return std::nullopt;
  return path;
}

std::vector<ExperimentStore::Place> ExperimentStore::all() const {
  std::vector<Place> places;
  std::error_code error;
  for (fs::directory_iterator entry(index(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::int64_t xid = number_of(entry->path().filename().string());
    if (xid == 0) continue;
    if (auto path = find(xid)) places.push_back({xid, std::move(*path)});
  }
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return a.xid < b.xid; });
  return places;
}

}  // namespace trivet
