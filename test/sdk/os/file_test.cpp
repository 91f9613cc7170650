// SPDX-License-Identifier: Apache-2.0
// Atomic replacement of text files, and reading without trust in their size.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "support/shell.h"
#include "trivet/error.h"
#include "trivet/os/file.h"

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
