// SPDX-License-Identifier: Apache-2.0
// Lines as they come: from files, and from a pipe in place of standard input.
#include "trivet/os/line_stream.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "support/shell.h"
#include "trivet/error.h"

namespace line_stream_test {

using namespace trivet;
using Catch::Contains;
using Lines = std::vector<std::string>;

namespace {

// Standard input is the reading end of a pipe while it lives.
class InputPipe {
 public:
  InputPipe() : saved_(::dup(STDIN_FILENO)) {
    REQUIRE(::pipe(ends_.data()) == 0);
    REQUIRE(::dup2(ends_[0], STDIN_FILENO) == STDIN_FILENO);
  }
  ~InputPipe() {
    close();
    ::close(ends_[0]);
    ::dup2(saved_, STDIN_FILENO);
    ::close(saved_);
  }
  void write(std::string_view text) const {
    REQUIRE(::write(ends_[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  void close() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
  int saved_;
};

Lines rest_of(LineStream& stream) {
  Lines lines;
  for (std::string line; stream.next(line);) lines.push_back(line);
  return lines;
}

std::string gzip_of(const std::string& text) {
  libdeflate_compressor* const compressor = libdeflate_alloc_compressor(1);
  std::string out(libdeflate_gzip_compress_bound(compressor, text.size()), '\0');
  out.resize(
      libdeflate_gzip_compress(compressor, text.data(), text.size(), out.data(), out.size()));
  libdeflate_free_compressor(compressor);
  return out;
}

}  // namespace

TEST_CASE("a pipe's lines are there as soon as they are written") {
  InputPipe pipe;
  LineStream lines("-");
  CHECK(lines.name() == "standard input");
  CHECK_FALSE(lines.has_next_now());
  pipe.write("first\nsec");
  std::string line;
  REQUIRE(lines.next(line));
  CHECK(line == "first");
  CHECK(lines.line() == 1);
  CHECK_FALSE(lines.has_next_now());
  pipe.write("ond\r\n\nlast");
  CHECK(lines.has_next_now());
  REQUIRE(lines.next(line));
  CHECK(line == "second");
  CHECK(lines.has_next_now());
  REQUIRE(lines.next(line));
  CHECK(line.empty());
  CHECK_FALSE(lines.has_next_now());
  pipe.close();
  CHECK(lines.has_next_now());
  CHECK(rest_of(lines) == Lines{"last"});
  CHECK(lines.line() == 4);
}

TEST_CASE("a pipe may have compressed contents") {
  InputPipe pipe;
  pipe.write(gzip_of("a\nb\n"));
  pipe.close();
  LineStream lines("-");
  CHECK(rest_of(lines) == Lines{"a", "b"});
}

TEST_CASE("lines of every length come whole") {
  const test::TempDir temp;
  const std::string longest(LineStream::kMostLineBytes - 1, 'x');
  std::string text;
  Lines expected;
  for (const std::size_t size : {0, 1, 65535, 65536, 65537, 200000}) {
    expected.emplace_back(size, 'a');
    text += expected.back() + "\n";
  }
  expected.push_back(longest);
  LineStream lines(temp.write("lines", text + longest + "\n").string());
  CHECK(rest_of(lines) == expected);

  LineStream too_long(temp.write("long", "a\n" + longest + longest + "\n").string());
  std::string line;
  REQUIRE(too_long.next(line));
  CHECK_THROWS_WITH(too_long.next(line), Contains("long:2: is longer than 16 MiB"));
}

TEST_CASE("files that cannot be read are named") {
  const test::TempDir temp;
  CHECK_THROWS_WITH(LineStream((temp / "none").string()),
                    Contains("none") && Contains("No such file"));
  const std::string zipped = gzip_of(std::string(1000, 'a') + "\n");
  LineStream cut(temp.write("cut.gz", zipped.substr(0, zipped.size() / 2)).string());
  std::string line;
  CHECK_THROWS_WITH(cut.next(line), Contains("cut.gz") && Contains("cut off"));
  LineStream empty(temp.write("empty", "").string());
  CHECK_FALSE(empty.next(line));
}

}  // namespace line_stream_test
