// SPDX-License-Identifier: Apache-2.0
#include "slow_disk.h"

#include "support/paths.h"
#include "support/shell.h"

namespace trivet::test {

std::vector<std::string> SlowDisk::environment() const {
  // A sanitizer's library wants to be the first; this one is preloaded on purpose.
  return {"LD_PRELOAD=" + (build_root() / "test/slow_files.so").string(),
          "ASAN_OPTIONS=verify_asan_link_order=0",
          "SLOW_FILES_BELOW=" + std::filesystem::weakly_canonical(below).string(),
          "SLOW_FILES_SEED=" + std::to_string(seed),
          "SLOW_FILES_DELAY=" + std::to_string(delay),
          "SLOW_FILES_FAILS=" + std::to_string(fails),
          "SLOW_FILES_ROOM=" + std::to_string(room),
          "SLOW_FILES_READ_ERROR=" + std::to_string(read_error),
          "SLOW_FILES_READ_FAILS=" + std::to_string(read_fails),
          "SLOW_FILES_KILL=" + std::to_string(kill)};
}

std::string SlowDisk::prefix() const {
  std::string text;
  for (const std::string& setting : environment()) {
    const std::size_t name = setting.find('=') + 1;
    text += setting.substr(0, name) + quoted(setting.substr(name)) + " ";
  }
  return text;
}

}  // namespace trivet::test
