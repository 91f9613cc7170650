// SPDX-License-Identifier: Apache-2.0
// The journal of a search: recovery after any end.
#include <algorithm>
#include <cstdint>
#include <fstream>

#include <catch2/catch.hpp>

#include "plugins/search/study.h"
#include "search/study/study.h"
#include "support/shell.h"

using namespace trivet;
using namespace trivet::test;
using Catch::Matchers::Contains;
using search::Study;

namespace {

std::vector<std::int64_t> numbers(const std::vector<search::Trial>& trials) {
  std::vector<std::int64_t> numbers;
  for (const search::Trial& trial : trials) numbers.push_back(trial.number);
  return numbers;
}

// Three trials that end in the order 2, 0; trial 1 runs.
void write_three(const std::filesystem::path& file) {
  Study study(file, mixed_space());
  for (const double at : {0.1, 0.5, 0.9}) {
    study.begin(mixed_space().point(std::vector<double>(6, at)));
  }
  study.end(2, search::TrialState::stopped, {0.1 + 0.2}, {.wid = 3, .detail = "not good enough"});
  study.end(0, search::TrialState::failed, {}, {.wid = 1, .detail = "failed"});
}

}  // namespace

TEST_CASE("a study that is read again has the same trials to the last bit") {
  TempDir dir;
  const auto file = dir.path() / "search.jsonl";
  CHECK(Study(file, mixed_space()).trials().empty());
  write_three(file);
  const Study study(file, mixed_space());
  REQUIRE(study.trials().size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(study.trials()[i].number == static_cast<std::int64_t>(i));
    CHECK(study.trials()[i].point ==
          mixed_space().point(std::vector<double>(6, 0.1 + 0.4 * static_cast<double>(i))));
  }
  CHECK(study.trials()[0].state == search::TrialState::failed);
  CHECK_FALSE(study.trials()[0].value);
  CHECK(study.trials()[1].state == search::TrialState::running);
  CHECK(study.trials()[2].state == search::TrialState::stopped);
  CHECK(study.trials()[2].value == 0.1 + 0.2);
  CHECK(study.ending(2).wid == 3);
  CHECK(study.ending(2).detail == "not good enough");
}

TEST_CASE("a study keeps the values of several objectives, and what was enqueued") {
  TempDir dir;
  const auto file = dir.path() / "search.jsonl";
  const Value given = Value::table({{"x", 0.1 + 0.2}, {"y", 1.0}});
  {
    Study study(file, branin_space());
    study.begin(branin_space().point(std::vector<double>{0.5, 0.5}), given);
    study.begin(branin_space().point(std::vector<double>{0.1, 0.5}));
    study.end(0, search::TrialState::complete, {0.1 + 0.2, -3}, {.wid = 1, .detail = {}});
  }
  const Study study(file, branin_space());
  CHECK(study.trials()[0].value == 0.1 + 0.2);
  CHECK(study.trials()[0].values == std::vector{0.1 + 0.2, -3.0});
  CHECK(study.trials()[1].values.empty());
  REQUIRE(study.enqueued().size() == 1);
  CHECK(study.enqueued()[0] == given);
}

TEST_CASE("a history has ended trials in the order of their ends, then running ones") {
  TempDir dir;
  const auto file = dir.path() / "search.jsonl";
  write_three(file);
  CHECK(numbers(Study(file, mixed_space()).history()) == std::vector<std::int64_t>{2, 0, 1});
}

TEST_CASE("failures count since the last trial that did not fail") {
  TempDir dir;
  Study study(dir.path() / "search.jsonl", branin_space());
  const auto end_next = [&](search::TrialState state) {
    const auto number = study.begin(branin_space().point(std::vector<double>{0.5, 0.5})).number;
    study.end(number, state, {}, {});
    return study.failures_in_a_row();
  };
  CHECK(study.failures_in_a_row() == 0);
  CHECK(end_next(search::TrialState::failed) == 1);
  CHECK(end_next(search::TrialState::failed) == 2);
  CHECK(end_next(search::TrialState::stopped) == 0);
  CHECK(end_next(search::TrialState::failed) == 1);
}

TEST_CASE("a journal cut anywhere continues with its complete lines") {
  TempDir dir;
  const auto whole = dir.path() / "whole.jsonl";
  const auto cut = dir.path() / "cut.jsonl";
  write_three(whole);
  const std::string text = read_file(whole);
  for (std::size_t size = 0; size < text.size(); ++size) {
    std::ofstream(cut, std::ios::trunc) << text.substr(0, size);
    const auto lines =
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), '\n');
    const auto begun = std::min<std::ptrdiff_t>(lines, 3);
    {
      Study study(cut, mixed_space());
      REQUIRE(std::ssize(study.trials()) == begun);
      study.begin(study.trials().empty() ? mixed_space().point(std::vector<double>(6, 0.5))
                                         : study.trials()[0].point);
    }
    REQUIRE(std::ssize(Study(cut, mixed_space()).trials()) == begun + 1);
  }
}

TEST_CASE("a file that is not a journal of a search is refused by line") {
  TempDir dir;
  const auto file = dir.path() / "search.jsonl";
  const auto refusal = [&](const std::string& text) -> std::string {
    std::ofstream(file, std::ios::trunc) << text << "\n";
    try {
      Study(file, branin_space());
    } catch (const RunError& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::string begun = R"({"trial":0,"state":"running","point":{"x":1.0,"y":2.0}})";
  CHECK(refusal(begun) == "accepted");
  CHECK_THAT(
      refusal("[1]"),
      Contains("search.jsonl:1: the journal of a search cannot continue with this line: [1]"));
  CHECK_THAT(refusal(R"({"trial":1,"state":"running","point":{}})"),
             Contains("cannot continue with this line"));
  CHECK_THAT(refusal(R"({"trial":0,"state":"complete","value":1.0})"),
             Contains("cannot continue with this line"));
  CHECK_THAT(refusal(R"({"trial":-1,"state":"failed"})"),
             Contains("cannot continue with this line"));
  CHECK_THAT(refusal(begun + "\n" + R"({"trial":0,"state":"tired"})"), Contains("tired"));
  CHECK_THAT(refusal(begun + "\n" + R"({"trial":0,"state":"failed"})" + "\n" +
                     R"({"trial":0,"state":"failed"})"),
             Contains("cannot continue with this line"));
}

TEST_CASE("a damaged line is refused by its number, unless it is the last") {
  TempDir dir;
  const auto file = dir.path() / "search.jsonl";
  write_three(file);
  const std::string text = read_file(file);
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1;
  std::ofstream(file, std::ios::trunc) << text.substr(0, last) << "{\"trial\": 0,\n";
  CHECK(Study(file, mixed_space()).trials()[0].state == search::TrialState::running);
  std::ofstream(file, std::ios::trunc) << "{\"trial\": 0,\n" << text;
  CHECK_THROWS_WITH(Study(file, mixed_space()), Contains("search.jsonl:1"));
}

TEST_CASE("the keys of a point come back in the order of the space") {
  TempDir dir;
  const auto file = dir.path() / "search.jsonl";
  std::ofstream(file) << R"({"trial":0,"state":"running","point":{"y":2.0,"x":1.0}})"
                      << "\n";
  CHECK(Study(file, branin_space()).trials()[0].point ==
        search::SearchPoint{{"x", 1.0}, {"y", 2.0}});
}
