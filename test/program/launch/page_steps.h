// SPDX-License-Identifier: Apache-2.0
// The steps of a page of docs/.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trivet::test {

struct PageStep {
  std::string file;  // name of the file to write; empty: a command
  std::string text;
};

// Blocks of TOML with the file's name in a comment in the first line, and lines of console blocks
// that start with $.
std::vector<PageStep> steps_of(const std::filesystem::path& page);

}  // namespace trivet::test
