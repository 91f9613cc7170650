// SPDX-License-Identifier: Apache-2.0
// What a page of docs/ tells its reader to do.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trivet::test {

struct PageStep {
  std::string file;  // to write, of this name; empty: a command
  std::string text;
};

// Blocks of TOML, whose first line is a comment with the file's name, and lines of console blocks
// that begin with $.
std::vector<PageStep> steps_of(const std::filesystem::path& page);

}  // namespace trivet::test
