// SPDX-License-Identifier: Apache-2.0
#include "trivet/train/logs.h"

#include <catch2/catch.hpp>

using trivet::Logs;

TEST_CASE("logs keep the order of first setting, and later values replace") {
  Logs logs;
  logs.set("loss", 1);
  logs.set("accuracy", 0.5);
  logs.set("loss", 2);
  CHECK(std::vector<Logs::Entry>(logs.begin(), logs.end()) ==
        std::vector<Logs::Entry>{{"loss", 2}, {"accuracy", 0.5}});
  REQUIRE(logs.find("accuracy") != nullptr);
  CHECK(*logs.find("accuracy") == 0.5);
  CHECK(logs.find("acc") == nullptr);
}

TEST_CASE("merging overwrites with the other's values") {
  Logs logs, other;
  logs.set("loss", 1);
  other.set("loss", 3);
  other.set("recall", 4);
  logs.merge(other);
  CHECK(*logs.find("loss") == 3);
  CHECK(*logs.find("recall") == 4);
  CHECK(logs.size() == 2);
}
