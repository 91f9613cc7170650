// SPDX-License-Identifier: Apache-2.0
#include "base/user_directories.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>

namespace trivet {

std::filesystem::path home_directory() {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/') return home;
  const passwd* user = getpwuid(geteuid());
  return user != nullptr && user->pw_dir != nullptr ? user->pw_dir : "";
}

std::filesystem::path cache_directory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return cache;
  }
  const std::filesystem::path home = home_directory();
  return home.empty() ? home : home / ".cache";
}

}  // namespace trivet
