// SPDX-License-Identifier: Apache-2.0
#include "page_steps.h"

#include <fstream>

namespace trivet::test {

std::vector<PageStep> steps_of(const std::filesystem::path& page) {
  std::vector<PageStep> steps;
  std::ifstream in(page);
  std::string block;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) {
      block = block.empty() ? line.substr(3) : "";
    } else if (block == "console" && line.starts_with("$ ")) {
      steps.push_back({"", line.substr(2)});
    } else if (block == "toml") {
      if (line.starts_with("# ")) steps.push_back({line.substr(2), ""});
      steps.back().text += line + "\n";
    }
  }
  return steps;
}

}  // namespace trivet::test
