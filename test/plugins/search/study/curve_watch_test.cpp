// SPDX-License-Identifier: Apache-2.0
// Waking on files that trials write.
#include "search/study/curve_watch.h"

#include <poll.h>
#include <unistd.h>

#include <fstream>

#include <catch2/catch.hpp>

#include "support/shell.h"

using namespace trivet::test;
using trivet::search::CurveWatch;

namespace {

bool is_readable(int fd) {
  pollfd poll{fd, POLLIN, 0};
  return ::poll(&poll, 1, 0) == 1;
}

}  // namespace

TEST_CASE("a followed file wakes once when it is created, and once when it grows") {
  const TempDir dir;
  const auto file = dir.path() / "metrics.jsonl";
  const CurveWatch watch(-1);
  watch.follow(file);
  CHECK_FALSE(is_readable(watch.fd()));
  std::ofstream(file) << "";
  CHECK(is_readable(watch.fd()));
  watch.quiet();
  watch.follow(file);
  CHECK_FALSE(is_readable(watch.fd()));
  std::ofstream(file, std::ios::app) << "a line\n";
  CHECK(is_readable(watch.fd()));
  watch.quiet();
  std::ofstream(file, std::ios::app) << "another\n";
  CHECK_FALSE(is_readable(watch.fd()));
}

TEST_CASE("following a file nowhere does no harm") {
  const TempDir dir;
  const CurveWatch watch(-1);
  watch.follow(dir.path() / "none" / "metrics.jsonl");
  CHECK_FALSE(is_readable(watch.fd()));
}

TEST_CASE("a watch also wakes for its owner's descriptor") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  {
    const CurveWatch watch(ends[0]);
    CHECK_FALSE(is_readable(watch.fd()));
    REQUIRE(::write(ends[1], "x", 1) == 1);
    CHECK(is_readable(watch.fd()));
    watch.quiet();
    CHECK(is_readable(watch.fd()));
  }
  ::close(ends[0]);
  ::close(ends[1]);
}
