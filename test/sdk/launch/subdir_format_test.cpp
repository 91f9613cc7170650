// SPDX-License-Identifier: Apache-2.0
// Names of directories: the placeholders of kxm's SubdirFormat, and differences from it.
#include "trivet/launch/subdir_format.h"

#include <string>

#include <catch2/catch.hpp>

using namespace trivet;
using Catch::Contains;

namespace {

launch::DirProperties properties() {
  launch::DirProperties all;
  all.xid = 12;
  all.name = "my xp";
  all.author = "ada";
  all.cell = "jn";
  all.wid = 3;
  all.units = 345;
  all.sweep.args = {{"batch_size", 32}, {"lr", 1e-5}};
  return all;
}

std::string expand(const std::string& text, const launch::DirProperties& from = properties()) {
  return launch::SubdirFormat().expand(text, from);
}

std::string kwargs(std::vector<std::pair<std::string, Value>> args) {
  return launch::sweep_kwargs({std::move(args), {}});
}

}  // namespace

TEST_CASE("every placeholder of a directory has its value") {
  CHECK(expand("{xid}") == "12");
  CHECK(expand("{name}|{title}") == "my xp|my xp");
  CHECK(expand("{author}{user}") == "adaada");
  CHECK(expand("{cell}") == "jn");
  CHECK(expand("{wid}") == "003");  // as many digits as 345 has
  CHECK(expand("{unpadded_wid}") == "3");
  CHECK(expand("{wid}{separator_if_sweep}{sweep_kwargs}") == "003-batch_size=32,lr=1e-05");
  CHECK(expand("plain") == "plain");
  CHECK(expand("") == "");
}

TEST_CASE("the number of a unit is padded to the digits of their number") {
  launch::DirProperties from = properties();
  const auto wid = [&](std::int64_t unit, std::int64_t units) {
    from.wid = unit;
    from.units = units;
    return expand("{wid}", from);
  };
  CHECK(wid(3, 9) == "3");
  CHECK(wid(3, 10) == "03");
  CHECK(wid(1, 345) == "001");
  CHECK(wid(1000, 9) == "1000");
}

TEST_CASE("placeholders support formats as in Python") {
  CHECK(expand("{unpadded_wid:04}") == "0003");
  CHECK(expand("{name:>8}") == "   my xp");
  CHECK(expand("{{x}} {xid}") == "{x} 12");
  CHECK_THROWS_WITH(expand("{xid:q}"), Contains("'q' is no format for 12"));
}

TEST_CASE("without a sweep there is no separator") {
  launch::DirProperties from = properties();
  from.sweep = {};
  CHECK(expand("{wid}{separator_if_sweep}{sweep_kwargs}", from) == "003");
}

TEST_CASE("an invalid placeholder is an error that lists the valid ones") {
  CHECK_THROWS_WITH(expand("{nope}"), Contains("{nope}") && Contains("{sweep_kwargs}"));
  launch::DirProperties experiment = properties();
  experiment.wid = 0;
  CHECK_THROWS_WITH(expand("{nope}", experiment), !Contains("{sweep_kwargs}"));
  CHECK_THROWS_WITH(expand("{wid}", experiment), Contains("known in work units only"));
  experiment.xid = 0;
  CHECK_THROWS_WITH(expand("{xid}", experiment), Contains("{xid} has no value here"));
  experiment.cell.clear();
  CHECK_THROWS_WITH(expand("{cell}", experiment), Contains("names no cell"));
  for (const char* text : {"{", "}", "{xid", "xid}", "{a{b}}"}) {
    INFO(text);
    CHECK_THROWS_WITH(expand(text), Contains("has no partner"));
  }
}

TEST_CASE("changes of a sweep become text that a directory name allows") {
  CHECK(kwargs({{"a", true}, {"b", Value::array({1, 2})}, {"c", "x"}}) == "a=true,b=(1,2),c=x");
  CHECK(kwargs({{"p", "/a/b\\c%*\n"}}) == "p=abc");
  CHECK(kwargs({{"p", " a  \t b "}}) == "p=a b");
  CHECK(kwargs({{"p", "x=1,y:{z}#'\""}}) == "p=x=1,y:{z}#'\"");  // unchanged
  CHECK(kwargs({{"p", "a\x1b[2J\x7f\x1f!"}}) == "p=a(2J!");      // no terminal control characters
  CHECK(kwargs({{"p[0]", "[x]"}}) == "p(0)=(x)");                // no shell patterns
  CHECK(launch::sweep_kwargs({{{"a.long.path", 1}}, {{"path", 1}}}) == "path=1");
}

TEST_CASE("long text of a sweep is cut after a member and made unique by a hash") {
  const std::string long_text(120, 'x');
  const std::string cut = kwargs({{"a", 1}, {"b", long_text}, {"c", 2}});
  CHECK(cut.starts_with("a=1-"));
  CHECK(cut.size() == 3 + 1 + 8);
  CHECK(cut != kwargs({{"a", 1}, {"b", long_text}, {"c", 3}}));
  CHECK(kwargs({{"b", std::string(125, 'x')}}).size() == 127);
  // One member that is too long is cut inside, between characters.
  CHECK(kwargs({{"b", std::string(126, 'x')}}).starts_with("b=" + std::string(116, 'x') + "-"));
  CHECK(kwargs({{"b", std::string(115, 'x') + "\xc3\xa4" + long_text}})
            .starts_with("b=" + std::string(115, 'x') + "-"));
  // The comma between members counts.
  const auto both = [](std::size_t first, std::size_t second) {
    return kwargs({{"a", std::string(first, 'x')}, {"b", std::string(second, 'x')}});
  };
  CHECK(both(61, 61).size() == 127);
  CHECK(both(61, 62) != "a=" + std::string(61, 'x') + ",b=" + std::string(62, 'x'));
  CHECK(both(61, 62).starts_with("a=" + std::string(61, 'x') + "-"));
  // As many members as needed are dropped for the hash.
  std::vector<std::pair<std::string, Value>> small;
  for (int i = 0; i < 60; ++i) small.emplace_back(std::string(1, static_cast<char>('A' + i)), 1);
  CHECK(kwargs(small).size() <= 127);
  std::vector<std::pair<std::string, Value>> many;
  for (int i = 0; i < 100; ++i) many.emplace_back("k" + std::to_string(i), i);
  CHECK(kwargs(many).size() <= 127);
}
