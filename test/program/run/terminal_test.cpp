// SPDX-License-Identifier: Apache-2.0
// A run on a terminal of a given width: no line of progress or of metrics wraps. And trivet top,
// which uses the whole terminal and restores it.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/terminal_text.h"
#include "run_fixture.h"
#include "support/experiment_files.h"
#include "support/paths.h"
#include "trivet/os/process.h"

namespace terminal_test {

using namespace trivet;
using Catch::Contains;

namespace {

// Runs the program on a new terminal, types `keys` and returns all output.
std::string on_terminal(std::vector<std::string> words, unsigned short columns,
                        const std::string& keys = {}) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE(terminal >= 0);
  REQUIRE(::grantpt(terminal) == 0);
  REQUIRE(::unlockpt(terminal) == 0);
  const int screen = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
  REQUIRE(screen >= 0);
  winsize size = {};
  size.ws_row = 24;
  size.ws_col = columns;
  REQUIRE(::ioctl(screen, TIOCSWINSZ, &size) == 0);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    for (int fd = 0; fd < 3; ++fd) ::dup2(screen, fd);
    ::setenv("TERM", "xterm", 1);
    ::setenv("LC_ALL", "C.UTF-8", 1);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(screen);
  REQUIRE(::write(terminal, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()));
  std::string all;
  char buffer[4096];
  // Ends with an error when the last process has closed the terminal.
  for (ssize_t n; (n = ::read(terminal, buffer, sizeof buffer)) > 0;) {
    all.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(terminal);
  int status = 0;
  ::waitpid(child, &status, 0);
  INFO(all);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
  return all;
}

// The text between two returns of the cursor, without colors and erasures.
std::vector<std::string> lines_of(const std::string& output) {
  const std::string plain = std::regex_replace(output, std::regex("\x1b\\[[0-9;?]*[A-Za-z]"), "");
  std::vector<std::string> lines(1);
  for (const char c : plain) {
    if (c == '\r' || c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

}  // namespace

TEST_CASE("progress and metrics stay on one line of a terminal of any width", "[slow]") {
  const test::TempDir folder;
  const std::regex live(" *[0-9]+/[0-9]+.*"), metrics(" *(eval|train) .*loss.*|  saved .*");
  for (const unsigned short columns : {40, 80, 200}) {
    const std::filesystem::path workdir = folder / ("准确率-größe-" + std::to_string(columns));
    const std::string output =
        on_terminal({test::program().string(), "run", test::config("vision/local.toml").string(),
                     "--workdir", workdir.string(), "--plugin-dir", test::plugin_dir().string()},
                    columns);
    int progress_lines = 0, metric_lines = 0;
    for (const std::string& line : lines_of(output)) {
      const bool is_live = std::regex_match(line, live);
      const bool is_metrics = std::regex_match(line, metrics);
      progress_lines += is_live ? 1 : 0;
      metric_lines += is_metrics ? 1 : 0;
      INFO(columns << " columns: " << line);
      if (is_live || is_metrics) CHECK(columns_of(line) < columns);
    }
    INFO(output);
    CHECK(progress_lines > 0);
    CHECK(metric_lines >= 4);  // eval, saved, and both lines of the summary
    CHECK(std::regex_search(output, std::regex("step 150  ?validation_loss [0-9.]+[0-9]")));
    CHECK((output.find(" more") != std::string::npos) == (columns == 80));
  }
}

TEST_CASE("trivet top shows running jobs until q and restores the terminal") {
  const test::TempDir folder;
  const test::ExperimentFiles files(folder / "root");
  files.add(3, 2);
  const std::string status =
      "{\"state\":\"running\",\"step\":7,\"target\":27,\"time\":" + std::to_string(unix_time()) +
      ",\"started\":1,\"host\":\"elsewhere\",\"pid\":1,\"boot_id\":\"x\"}";
  folder.write("root/1-\x1b[31m-with-a-name-that-is-rather-long/status.json", status);
  const auto words = [&](const char* option) {
    return std::vector<std::string>{test::program().string(), "top", "--root",
                                    files.root().string(), option};
  };
  const std::string all = on_terminal(words("--interval=3600"), 40, "q");
  const std::size_t begin = all.find("\x1b[?1049h"), end = all.find("\x1b[?1049l");
  REQUIRE(begin != std::string::npos);
  REQUIRE(end != std::string::npos);
  CHECK(begin < all.find("1 running in"));
  CHECK(all.find("1 running in") < end);
  CHECK_THAT(all, Contains("1- [31m-with") && !Contains("\x1b[31m"));
  CHECK(all.find("\x1b[?25l") < all.find("\x1b[?25h"));
  // Before that, the terminal may show the key itself.
  for (const std::string& line : lines_of(all.substr(begin, end - begin))) {
    INFO(line);
    CHECK(columns_of(line) <= 40);
  }
  const std::string once = on_terminal(words("--once"), 200);
  CHECK_THAT(once, Contains("7/27") && !Contains("\x1b["));
}

}  // namespace terminal_test
