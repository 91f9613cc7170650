// SPDX-License-Identifier: Apache-2.0
#include "cli/main.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/view/error_report.h"
#include "host/crash_report.h"
#include "trivet/error.h"
#include "trivet/version.h"

namespace trivet {
namespace {

bool asks_for_help(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") return false;
    if (word == "--help" || word == "-h") return true;
  }
  return false;
}

// Moves options before the command after it.
std::vector<std::string> in_order(std::vector<std::string> words) {
  std::size_t count = 0;
  while (count < words.size() && words[count].starts_with("--plugin-dir")) {
    count += words[count] == "--plugin-dir" ? 2 : 1;
  }
  if (count > 0 && count < words.size()) {
    std::rotate(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(count),
                words.begin() + static_cast<std::ptrdiff_t>(count) + 1);
  }
  return words;
}

int dispatch(const std::vector<std::string>& given) {
  const std::vector<std::string> words = in_order(given);
  if (words.empty() || words[0] == "--help" || words[0] == "-h") {
    const std::vector<std::string> dirs = without_plugin_dirs(words).plugin_dirs;
    print_out(overview_text(plugin_commands(PluginHost(plugin_search_path(dirs)))));
    return 0;
  }
  if (words[0] == "--version" || words[0] == "-V") {
    print_out(fmt::format("trivet {} (sdk {}.{})\n", version(), kSdkMajor, kSdkMinor));
    return 0;
  }
  const CommandInfo* command = find_command(words[0]);
  if (command == nullptr && words[0].starts_with('-')) {
    throw UsageError("unknown option '" + words[0] + "'",
                     {.hint = "options come after the command; see trivet --help"});
  }
  if (command == nullptr) return run_plugin_command(words);
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  if (asks_for_help(rest)) {
    print_out(manual_text(*command));
    return 0;
  }
  return command->run(rest);
}

}  // namespace

int cli_main(int argc, char** argv) {
  const CommandInfo* command = argc > 1 ? find_command(argv[1]) : nullptr;
  if (command != nullptr && command->at_process_start != nullptr) command->at_process_start();
  reserve_standard_streams();
  const CrashReport crash_report;
  try {
    const int code = dispatch(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
    flush_out();
    return code;
  } catch (const std::exception& error) {
    std::fflush(stdout);
    // Not fmt::print, which throws if it cannot write to stderr: the exit code must not change.
    std::fputs(report_text(error, has_colors(stderr)).c_str(), stderr);
    return exit_code_of(error);
  }
}

}  // namespace trivet
