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
  std::error_code failed;
  for (const fs::directory_entry& process : fs::directory_iterator("/proc", failed)) {
    if (files.empty()) return;
    if (!is_process(process.path())) continue;
    std::ifstream maps(process.path() / "maps");
    for (std::string line; std::getline(maps, line);) {
      std::erase_if(files, [&](const std::string& file) { return line.ends_with(file); });
    }
  }
  if (failed) files.clear();
}

}  // namespace

void remove_stale_segments(const fs::path& directory) {
  std::error_code failed;
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, failed)) {
    if (is_candidate(entry.path())) files.push_back(entry.path().string());
  }
  keep_unmapped(files);
  for (const std::string& file : files) ::unlink(file.c_str());
}

}  // namespace trivet::mpi
