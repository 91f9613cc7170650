// SPDX-License-Identifier: Apache-2.0
// The blocks of a page of documentation that a reader copies: files of TOML and console sessions.
// What a test must know to do the same stands in comments of the page, each on a line of its own
// before the block that it is for:
//
//   <!-- test: not run, WHY -->        the block needs what a test does not have
//   <!-- test: with WORDS -->          WORDS are added to the block's `trivet run`: fewer steps
//   <!-- test: as COMMAND -->          COMMAND is called instead of the block's first
//   <!-- test: before COMMAND -->      COMMAND makes what the reader has
//   <!-- test: exit N of WORDS, WHY -->  the command that begins so ends with this code
//   <!-- test: base FILE -->           a part of a config, which FILE completes
//   <!-- test: needs FILE -->          the block and those behind it are left out where FILE is not
//   <!-- test: page by TEST, WHY -->   another test follows the whole page
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace trivet::test {

struct DocBlock {
  struct Directive {
    std::string name, words;
  };
  struct Command {
    std::string text;                   // with the lines that go on behind a backslash
    std::vector<std::string> expected;  // what the page shows of its output
  };

  std::string kind;  // behind the fence: "toml", "console"
  int line = 0;      // of the fence
  std::vector<Directive> directives;
  std::string text;
  std::vector<Command> commands;  // of a console block

  const std::string* directive(const std::string& name) const;  // its words; null: none
};

std::vector<DocBlock> blocks_of(const std::filesystem::path& page);

// The README, and behind it the pages of docs/ and of its folders.
std::vector<std::filesystem::path> doc_pages();

// Whether a line of output is the one that a page shows. What depends on the machine may differ:
// times, rates, memory and where the home directory is; numbers with a fraction may do so by five
// in a hundred, and "..." stands for anything up to the end.
bool is_as_shown(const std::string& shown, const std::string& line);

// The first of the shown lines that the output does not have, behind those before it; empty: none.
std::string first_missing(const std::vector<std::string>& shown, const std::string& output);

}  // namespace trivet::test
