// SPDX-License-Identifier: Apache-2.0
#include "processes/own_directory.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>

#include <catch2/catch.hpp>

#include "support/jobs.h"
#include "support/shell.h"

namespace own_directory_test {

using namespace trivet;
namespace fs = std::filesystem;

namespace {

std::ptrdiff_t count_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

}  // namespace

TEST_CASE("the directory of a killed process is removed, that of a living one is kept") {
  const test::TempDir folder;
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", folder.path().c_str(), 1);
  {
    const OwnDirectory mine(1);
    folder.write("trivet-follower2", "a file");
    const pid_t killed = test::in_child([] {
      const OwnDirectory directory(3);
      ::kill(::getpid(), SIGKILL);
    });
    CHECK(WTERMSIG(test::wait_for_child(killed)) == SIGKILL);
    CHECK(count_in(folder.path()) == 3);
    remove_left_directories();
    CHECK(count_in(folder.path()) == 2);
    CHECK(fs::exists(mine.path()));
    CHECK(fs::exists(folder / "trivet-follower2"));
    const OwnDirectory other(1);
    CHECK(fs::exists(mine.path()));
    CHECK(other.path() != mine.path());
  }
  CHECK(count_in(folder.path()) == 1);
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
}

}  // namespace own_directory_test
