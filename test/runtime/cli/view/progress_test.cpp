// SPDX-License-Identifier: Apache-2.0
// The output of a run: the live line at every width, the lines in a pipe.
#include "cli/view/progress.h"

#include <unistd.h>

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "base/format.h"
#include "base/terminal_text.h"

using namespace trivet;
using Catch::Contains;

namespace {

RunProgress state() {
  RunProgress state;
  state.step = 440;
  state.target = 1000;
  state.loss = 1.87123;
  state.metric = "accuracy";
  state.metric_value = 0.61;
  state.examples_per_second = 38102;
  state.seconds_left = 31;
  return state;
}

constexpr Terminal kAscii{.style = OutputStyle::live, .color = false, .unicode = false};

// All output since its construction.
class Pipe {
 public:
  Pipe() {
    if (::pipe(ends_) != 0) throw std::runtime_error("no pipe");
  }
  ~Pipe() { ::close(ends_[0]); }
  int input() const { return ends_[1]; }
  std::string text() {
    ::close(ends_[1]);
    std::string all;
    char buffer[4096];
    for (ssize_t n; (n = ::read(ends_[0], buffer, sizeof buffer)) > 0;) {
      all.append(buffer, static_cast<std::size_t>(n));
    }
    return all;
  }

 private:
  int ends_[2];
};

}  // namespace

TEST_CASE("the live line shows everything if there is space") {
  CHECK(live_line(state(), 120, kAscii) ==
        "   440/1000  [########............]   44%  loss 1.8712  accuracy 0.6100"
        "  38.1k examples/s  eta 31 s");
}

TEST_CASE("the live line never wraps, and omits step, loss and remaining time last") {
  for (int width = 12; width < 120; ++width) {
    CHECK(live_line(state(), width, kAscii).size() <= static_cast<std::size_t>(width));
  }
  CHECK(live_line(state(), 79, kAscii) ==
        "   440/1000  [##....]  loss 1.8712  accuracy 0.6100  38.1k examples/s  eta 31 s");
  CHECK(live_line(state(), 39, kAscii) == "   440/1000  loss 1.8712  eta 31 s");
  CHECK(live_line(state(), 12, kAscii) == "   440/1000");
}

TEST_CASE("the live line fits with any metric name") {
  const Terminal unicode{.style = OutputStyle::live, .color = false, .unicode = true};
  const std::string names[] = {"genauigkeit_für_größe",
                               "准确率",
                               "e\xCC\x81"
                               "cart",  // e, accent
                               std::string(500, 'm'),
                               "\x1b[2Jgone\n",
                               "broken \xff"};
  for (const std::string& name : names) {
    RunProgress now = state();
    now.metric = name;
    for (const int width : {3, 39, 79, 199}) {
      const std::string line = live_line(now, width, unicode);
      INFO(width << " " << line);
      CHECK(columns_of(line) <= width);
      CHECK_THAT(line, !Contains("\x1b") && !Contains("\n"));
    }
    if (columns_of(name) < 80) {
      CHECK_THAT(live_line(now, 199, unicode), Contains(clipped(name, 199) + " 0.6100  38.1k"));
    }
  }
}

TEST_CASE("columns are counted like in terminals") {
  CHECK(columns_of("loss") == 4);
  CHECK(columns_of("größe") == 5);
  CHECK(columns_of("准确率") == 6);
  CHECK(columns_of("e\xCC\x81") == 1);
  CHECK(columns_of("\xF0\x9F\x99\x82") == 2);  // a smiling face
  CHECK(columns_of("\xCD\xB8") == 1);          // U+0378, which no standard has given a meaning yet
  CHECK(clipped("准确率", 5) == "准确");
  CHECK(clipped("a\tb\x7f"
                "c\xC2\x9B"
                "d\xFF",
                20) == "a b c d?");
}

TEST_CASE("a line of metrics shows the first ones that fit and counts the others") {
  const std::vector<std::string> facts = {"loss 0.3832", "accuracy 0.8647", "top_5 0.9970",
                                          "macro_recall 0.8647"};
  const auto line = [&](int width) { return facts_line("  eval", facts, "  (0.1 s)", width); };
  const std::string all =
      "  eval  loss 0.3832  accuracy 0.8647  top_5 0.9970  macro_recall 0.8647  (0.1 s)";
  CHECK(line(0) == all);
  CHECK(line(static_cast<int>(all.size())) == all);
  CHECK(line(79) == "  eval  loss 0.3832  accuracy 0.8647  top_5 0.9970  +1 more");
  CHECK(line(39) == "  eval  loss 0.3832  +3 more");
  CHECK(line(22) == "eval loss 0.3832");
  CHECK(line(15) == "eval");  // a number is never cut
  CHECK(facts_line("  eval", {}, "", 3) == "eva");
}

TEST_CASE("a bar of block characters counts columns, not bytes") {
  const Terminal unicode{.style = OutputStyle::live, .color = false, .unicode = true};
  CHECK_THAT(live_line(state(), 120, unicode), Contains("▕████████▊           ▏"));
  CHECK_THAT(live_line(state(), 79, unicode), Contains("▕██▋   ▏  loss"));
}

TEST_CASE("a pipe gets key=value lines at round steps") {
  Pipe pipe;
  Progress progress({.style = OutputStyle::plain, .color = false, .unicode = false}, pipe.input());
  std::vector<std::int64_t> shown;
  for (std::int64_t step = 1; step <= 1000; ++step) {
    if (!progress.is_due(step)) continue;
    RunProgress now = state();
    now.step = step;
    progress.update(now);
    shown.push_back(step);
  }
  CHECK(shown == std::vector<std::int64_t>{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000});
  progress.event("for people", "eval", {{"step", "1000"}, {"loss", "0.5"}});
  const std::string text = pipe.text();
  CHECK_THAT(text, Contains("step=200/1000 loss=1.8712 accuracy=0.6100 "
                            "examples_per_second=38102 eta=31s\n"));
  CHECK_THAT(text, Contains("\neval step=1000 loss=0.5\n"));
  CHECK_THAT(text, !Contains("\r") && !Contains("\x1b") && !Contains("people"));
}

TEST_CASE("tokens per second replace examples on a terminal, with the MFU") {
  RunProgress now = state();
  now.tokens_per_second = 41200;
  CHECK_THAT(live_line(now, 120, kAscii),
             Contains("  41.2k tokens/s  eta") && !Contains("examples"));
  now.mfu = 0.352;
  CHECK_THAT(live_line(now, 120, kAscii), Contains("  41.2k tokens/s  MFU 35%  eta 31 s"));
  CHECK_THAT(live_line(now, 60, kAscii), Contains("loss") && !Contains("MFU"));
  CHECK(plain_line(now) ==
        "step=440/1000 loss=1.8712 accuracy=0.6100 examples_per_second=38102 "
        "tokens_per_second=41200 mfu=0.352 eta=31s");
}

TEST_CASE("rare events are printed above the live line and stay") {
  Pipe pipe;
  Progress progress(kAscii, pipe.input());
  progress.update(state());
  progress.event("  saved step 440", "checkpoint", {});
  CHECK(progress.is_due(441));  // the line is drawn again at once
  CHECK(pipe.text() ==
        "\r" + live_line(state(), 79, kAscii) + "\x1b[K" + "\r\x1b[K" + "  saved step 440\n");
}

TEST_CASE("quiet is silent") {
  Pipe pipe;
  Progress progress({.style = OutputStyle::quiet, .color = false, .unicode = false}, pipe.input());
  CHECK_FALSE(progress.is_due(1));
  progress.update(state());
  progress.print("text");
  progress.event("text", "name", {});
  CHECK(pipe.text().empty());
}

TEST_CASE("numbers are formatted for users") {
  CHECK(format_duration(0.26) == "0.3 s");
  CHECK(format_duration(31.4) == "31 s");
  CHECK(format_duration(125) == "2 m 05 s");
  CHECK(format_duration(11220) == "3 h 07 m");
  CHECK(format_duration(3 * 86400 + 3600) == "3 d 01 h");
  CHECK(format_bytes(12) == "12 bytes");
  CHECK(format_bytes(4885904) == "4.9 MB");
  CHECK(format_bytes(999999) == "1.0 MB");
  CHECK(format_bytes(1490000000) == "1.5 GB");
  CHECK(format_rate(950) == "950");
  CHECK(format_rate(38102) == "38.1k");
  CHECK(format_rate(4.8e6) == "4.8M");
  CHECK(format_count(7) == "7");
  CHECK(format_count(407050) == "407,050");
  CHECK(format_count(1000000) == "1,000,000");
  CHECK(format_number(0.5) == "0.5000");
  CHECK(format_number(0.0000123) == "1.230e-05");
  CHECK(format_number(0) == "0.0000");
}
