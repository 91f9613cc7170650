// SPDX-License-Identifier: Apache-2.0
// Atomic replacement of text files, and reading without trust in their size.
#include "trivet/os/file.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

#include "support/shell.h"
#include "trivet/error.h"

using namespace trivet;
using Catch::Contains;
using test::TempDir;
namespace fs = std::filesystem;

TEST_CASE("a text comes back from its file, and a new one replaces it") {
  const TempDir dir;
  const fs::path file = dir / "a.txt";
  const std::string long_text(300000, 'x');
  for (const std::string& text :
       {std::string("one\n"), long_text, std::string("a\0b", 3), std::string()}) {
    replace_file(file, text);
    CHECK(read_text_file(file) == text);
  }
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 1);
}

TEST_CASE("a text that cannot be written leaves the old one and no half file") {
  if (!fs::exists("/dev/full")) return;
  const TempDir dir;
  const fs::path file = dir / "a.txt";
  replace_file(file, "old");
  fs::create_symlink("/dev/full", dir / "a.txt.tmp");
  CHECK_THROWS_WITH(replace_file(file, "new"),
                    Contains("cannot write") && Contains("a.txt.tmp") && Contains("No space left"));
  CHECK(read_text_file(file) == "old");
  CHECK_FALSE(fs::exists(fs::symlink_status(dir / "a.txt.tmp")));
  CHECK_THROWS_AS(replace_file(dir / "none" / "a.txt", "new"), RunError);
}

TEST_CASE("a file that is missing, a folder or above the limit is not read") {
  const TempDir dir;
  CHECK_THROWS_WITH(read_text_file(dir / "a.txt"), Contains("cannot read") && Contains("a.txt"));
  CHECK_THROWS_WITH(read_text_file(dir.path()), Contains("Is a directory"));
  const fs::path file = dir.write("b.txt", std::string(100, 'x'));
  CHECK(read_text_file(file, 100).size() == 100);
  CHECK_THROWS_WITH(read_text_file(file, 99), Contains("is larger than 99 bytes"));
}

TEST_CASE("a lock is held until its file is closed") {
  const TempDir dir;
  const fs::path path = dir / "lock";
  const auto is_free = [&] {
    const UniqueFd other = open_file(path, O_RDWR);
    return ::flock(other.get(), LOCK_EX | LOCK_NB) == 0;
  };
  {
    const UniqueFd file = open_file(path, O_RDWR | O_CREAT);
    CHECK(is_free());
    lock_file(file, path);
    CHECK_FALSE(is_free());
  }
  CHECK(is_free());
  CHECK_THROWS_WITH(lock_file(UniqueFd(), path), Contains("cannot lock " + path.string()));
}

TEST_CASE("what is left of a file is read up to a limit") {
  const TempDir dir;
  const fs::path path = dir.write("a.txt", std::string(100000, 'x') + "end");
  const UniqueFd file = open_file(path, O_RDONLY);
  CHECK(read_up_to(file, 0, path).empty());
  CHECK(read_up_to(file, 70000, path) == std::string(70000, 'x'));
  CHECK(read_up_to(file, 1 << 20, path) == std::string(30000, 'x') + "end");
  CHECK(read_up_to(file, 1 << 20, path).empty());
  CHECK_THROWS_AS(read_up_to(UniqueFd(), 1, path), FileError);
}

TEST_CASE("a file is made with the permissions that are asked for") {
  const TempDir dir;
  const UniqueFd file = open_file(dir / "own", O_WRONLY | O_CREAT, 0600);
  CHECK(fs::status(dir / "own").permissions() == (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("a file error tells a shortage, which passes, from what stays as it is") {
  const auto error_of = [](int number) { return FileError("a", {}, number); };
  for (const int number : {ENOMEM, ENOSPC, EMFILE, EIO, ESTALE}) {
    CHECK(error_of(number).is_shortage());
    CHECK(error_of(number).may_pass());
  }
  CHECK_FALSE(error_of(EACCES).is_shortage());
  CHECK(error_of(EACCES).may_pass());
  CHECK_FALSE(error_of(ENOENT).is_shortage());
  CHECK_FALSE(error_of(ENOENT).may_pass());
}

TEST_CASE("a file descriptor that is released stays open") {
  const TempDir dir;
  UniqueFd file = open_file(dir / "a", O_WRONLY | O_CREAT);
  const int number = file.release();
  CHECK_FALSE(file);
  CHECK(::fcntl(number, F_GETFD) != -1);
  const UniqueFd again(number);
}
