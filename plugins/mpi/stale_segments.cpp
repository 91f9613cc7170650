// SPDX-License-Identifier: Apache-2.0
#include "mpi/stale_segments.h"

#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace trivet::mpi {
namespace {

namespace fs = std::filesystem;

constexpr std::time_t kLeastAge = 60;

// None where it cannot be read.
std::vector<fs::path> entries_of(const fs::path& directory) {
  std::vector<fs::path> entries;
  std::error_code failed;
  for (fs::directory_iterator each(directory, failed), end; !failed && each != end;
       each.increment(failed)) {
    entries.push_back(each->path());
  }
  return failed ? std::vector<fs::path>() : entries;
}

bool is_candidate(const fs::path& file) {
  struct stat about = {};
  return file.filename().string().starts_with("vader_segment.") &&
         ::lstat(file.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
         about.st_uid == ::geteuid() && std::time(nullptr) - about.st_mtime > kLeastAge;
}

bool is_process(const fs::path& directory) {
  return directory.filename().string().find_first_not_of("0123456789") == std::string::npos;
}

// Erases those that a process has mapped. Where its maps are hidden, the file may go: who has
// mapped it needs no name for it.
void keep_unmapped(std::vector<std::string>& files) {
  const std::vector<fs::path> processes = entries_of("/proc");
  if (processes.empty()) files.clear();
  for (const fs::path& process : processes) {
    if (files.empty()) return;
    if (!is_process(process)) continue;
    std::ifstream maps(process / "maps");
    for (std::string line; std::getline(maps, line);) {
      std::erase_if(files, [&](const std::string& file) { return line.ends_with(file); });
    }
  }
}

}  // namespace

void remove_stale_segments(const fs::path& directory) {
  std::vector<std::string> files;
  for (const fs::path& entry : entries_of(directory)) {
    if (is_candidate(entry)) files.push_back(entry.string());
  }
  keep_unmapped(files);
  for (const std::string& file : files) ::unlink(file.c_str());
}

}  // namespace trivet::mpi
