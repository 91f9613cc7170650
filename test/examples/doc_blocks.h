// SPDX-License-Identifier: Apache-2.0
// The blocks of a page of documentation that a reader copies: files of TOML and console sessions.
// Comments of the page have the settings for the test, each on a separate line before the block
// that it is for:
//
//   <!-- test: not run, WHY -->        a test cannot run the block
//   <!-- test: with WORDS -->          WORDS are added to the block's `trivet run`: fewer steps
//   <!-- test: as COMMAND -->          COMMAND is called instead of the block's first
//   <!-- test: before COMMAND -->      COMMAND creates the reader's files
//   <!-- test: exit N of WORDS, WHY -->  the command that starts so has this exit code
//   <!-- test: base FILE -->           a part of a config that FILE completes
//   <!-- test: needs FILE -->          skips this and later blocks if FILE is missing
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
    std::string text;                   // with lines continued by a backslash
    std::vector<std::string> expected;  // the output on the page
  };

  std::string kind;  // after the fence: "toml", "console"
  int line = 0;      // of the fence
  std::vector<Directive> directives;
  std::string text;
  std::vector<Command> commands;  // of a console block

  const std::string* directive(const std::string& name) const;  // its words; null: none
};

std::vector<DocBlock> blocks_of(const std::filesystem::path& page);

// The README, followed by the pages of docs/ and its folders.
std::vector<std::filesystem::path> doc_pages();

// Whether a line of output matches a line of a page. Times, rates, memory and the home directory
// may differ; numbers with a fraction may differ by 5 percent; "..." matches the rest of the line.
bool is_as_shown(const std::string& shown, const std::string& line);

// The first shown line that the output lacks after the previous ones. Empty: none.
std::string first_missing(const std::vector<std::string>& shown, const std::string& output);

}  // namespace trivet::test
