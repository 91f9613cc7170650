// SPDX-License-Identifier: Apache-2.0
// TOML text to Value and back: locations, order, limits, hostile text.
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include "config/toml/source_file.h"
#include "config/toml/text_checks.h"
#include "config/toml/toml_reader.h"
#include "config/toml/toml_writer.h"
#include "support/random_value.h"
#include "support/shell.h"

using trivet::ConfigError;
using trivet::Diagnostic;
using trivet::Value;

namespace {

// The only error of reading this text.
Diagnostic problem_of(std::string_view text) {
  try {
    trivet::read_toml(text, "x.toml");
  } catch (const ConfigError& error) {
    REQUIRE(error.diagnostics().size() == 1);
    return error.diagnostics()[0];
  }
  FAIL("no error for: " << text.substr(0, 80));
  return {};
}

std::string location(const Diagnostic& problem) {
  return to_string(problem.where);
}

std::string repeated(std::string_view piece, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

}  // namespace

TEST_CASE("keys and values carry their file, line and column") {
  const Value root =
      trivet::read_toml("a = 1\n[task]\n  name = \"x\"\nsizes = [ 1,\n 22 ]\n", "x.toml");
  CHECK(to_string(root.find("a")->origin()) == "x.toml:1:5");
  CHECK(to_string(root.find_path("task.name")->origin()) == "x.toml:3:10");
  CHECK(to_string(root.find("task")->members()[0].key_origin) == "x.toml:3:3");
  CHECK(to_string(root.find_path("task.sizes[1]")->origin()) == "x.toml:5:2");
  CHECK(to_string(root.find("task")->origin()) == "x.toml:2:1");
}

TEST_CASE("tables keep the order of the file") {
  const Value root = trivet::read_toml("z = 1\nb.y = 2\na = 3\nb.x = 4\n[m]\n[c]\n", "x.toml");
  std::string order;
  for (const auto& member : root.members()) order += member.key;
  CHECK(order == "zbamc");
  CHECK(root.find("b")->members()[0].key == "y");
}

TEST_CASE("all value types of TOML except dates are read") {
  const Value root = trivet::read_toml(
      "i = -9223372036854775808\nf = 1.0\nb = true\ns = 'x'\na = [1, [2.5]]\nt = {u = inf}\n", "x");
  const Value expected = Value::table({{"i", std::numeric_limits<std::int64_t>::min()},
                                       {"f", 1.0},
                                       {"b", true},
                                       {"s", "x"},
                                       {"a", Value::array({1, Value::array({2.5})})},
                                       {"t", Value::table({{"u", HUGE_VAL}})}});
  CHECK(root == expected);
}

TEST_CASE("dates are rejected with a hint, all at once") {
  try {
    trivet::read_toml("day = 1979-05-27\nlist = [07:32:00]\n", "x.toml");
    FAIL("dates were accepted");
  } catch (const ConfigError& error) {
    REQUIRE(error.diagnostics().size() == 2);
    CHECK(to_string(error.diagnostics()[0]) ==
          "x.toml:1:7: day: dates and times are not supported in a config (write it in quotes, as "
          "a string)");
    CHECK(location(error.diagnostics()[1]) == "x.toml:2:9");
    CHECK(error.diagnostics()[1].path == "list[0]");
  }
}

TEST_CASE("a key given twice is reported at its second location") {
  const Diagnostic problem = problem_of("[task]\nname = 1\nname = 2\n");
  CHECK(problem.where.line == 3);
  CHECK_THAT(problem.what, Catch::Contains("name"));
}

TEST_CASE("a byte order mark is skipped, alone or before text") {
  CHECK(trivet::read_toml("\xEF\xBB\xBF", "x").members().empty());
  CHECK(trivet::read_toml("\xEF\xBB\xBF"
                          "a = 1",
                          "x")
            .find("a")
            ->as_integer() == 1);
}

TEST_CASE("a second byte order mark is rejected") {
  CHECK_THROWS_WITH(trivet::read_toml("\xEF\xBB\xBF\xEF\xBB\xBF"
                                      "a = 1",
                                      "x.toml"),
                    Catch::Contains("two byte order marks"));
}

TEST_CASE("text that is not UTF-8 is rejected at its first bad byte") {
  CHECK(location(problem_of("a = 1\nb = \"x\xFFy\"\n")) == "x.toml:2:7");
  CHECK(location(problem_of("# \xC3\xA9\xED\xA0\x80")) == "x.toml:1:4");
  for (const char* bad : {"\xC0\xAF", "\xE0\x80\xAF", "\xF0\x80\x80\xAF", "\xF4\x90\x80\x80",
                          "\xC3", "\xE2\x82", "\x80", "\xED\xBF\xBF", "[\xDD\xBF]\x80"}) {
    CHECK(trivet::find_invalid_utf8(bad).has_value());
  }
  for (const char* good :
       {"", "a", "\xC2\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    CHECK_FALSE(trivet::find_invalid_utf8(good).has_value());
  }
}

TEST_CASE("a nesting depth of 10,000 is rejected in every TOML notation") {
  constexpr std::size_t kDeep = 10000;
  CHECK_THAT(problem_of("a = " + repeated("[", kDeep)).what, Catch::Contains("nested deeper"));
  problem_of("a = " + repeated("[", kDeep) + repeated("]", kDeep));
  problem_of("a = " + repeated("{a = ", kDeep) + "1" + repeated("}", kDeep));
  problem_of(repeated("a.", kDeep) + "a = 1");
  problem_of("[" + repeated("a.", kDeep) + "a]");
  problem_of("[[" + repeated("a . ", kDeep) + "a]]");
  problem_of("a = " + repeated("{a.a.a.a.a.a = [", kDeep) + "1");
}

TEST_CASE("brackets and dots in strings and comments do not nest") {
  const std::string many = repeated("[.{", 1000);
  const Value root =
      trivet::read_toml("a = \"" + many + "\\\"" + many + "\" # " + many + "\nb = '''\n" + many +
                            "'''\nc = \"\"\"" + many + "\n\"\"\"\nd = '" + many + "'\n",
                        "x");
  CHECK(root.members().size() == 4);
  CHECK(trivet::read_toml(repeated("[[a.b]]\nx.y.z = [[1.5, 2.5], [3.5]]\n", 500), "x")
            .find_path("a.b[499].x.y.z[1][0]")
            ->as_float() == 3.5);
}

TEST_CASE("files that are not configs are rejected by name") {
  const trivet::test::TempDir dir;
  dir.write("config.toml", "a = 1\n");
  CHECK(trivet::read_toml_file(dir / "config.toml").find("a")->as_integer() == 1);
  CHECK_THROWS_WITH(
      trivet::read_toml_file(dir / "confg.toml"),
      Catch::EndsWith("confg.toml: cannot open this config: No such file or directory "
                      "(did you mean 'config.toml'?)"));
  CHECK_THROWS_WITH(trivet::read_toml_file(dir / "mnist"),
                    Catch::EndsWith("mnist: cannot open this config: No such file or directory "
                                    "('trivet experiments' lists the experiments that can be "
                                    "named instead of a file)"));
  CHECK_THROWS_WITH(trivet::read_toml_file(dir.path()), Catch::Contains("the path is a directory"));
  CHECK_THROWS_WITH(trivet::read_toml_file("/dev/zero"), Catch::Contains("larger than 8 MiB"));
  dir.write("limit.toml", "#" + std::string(trivet::kLargestConfig - 1, 'x'));
  CHECK(trivet::read_toml_file(dir / "limit.toml").members().empty());
  dir.write("big.toml", "#" + std::string(trivet::kLargestConfig, 'x'));
  CHECK_THROWS_WITH(trivet::read_toml_file(dir / "big.toml"), Catch::Contains("larger than 8 MiB"));
}

TEST_CASE("a config in JSON or YAML is reported as such, and no other is") {
  const auto hint = [](const char* text) { return problem_of(text).hint; };
  for (const char* text : {"trainer:\n  train_steps: 5\n", "seed = 1\ntrainer:\n", "a: 1\n",
                           "# x\n---\na: 1\n", "- a\n", "task.name:  x\r\n"}) {
    INFO(text);
    CHECK(hint(text) == "configs are TOML: [trainer] above train_steps = 5");
  }
  CHECK_THAT(hint(" {\"trainer\": {\"train_steps\": 5}}"), Catch::Contains("--params_override"));
  for (const char* text : {"a = = 1", "[x", "a == 1", "a", "url = http://x: 1", "[a]\nb = 1 2"}) {
    INFO(text);
    CHECK(hint(text) == "");
  }
}

TEST_CASE("a single value is read with its columns") {
  const Value value = trivet::read_toml_value("{a = [1, 2.5]}");
  CHECK(value == Value::table({{"a", Value::array({1, 2.5})}}));
  CHECK(value.find_path("a[1]")->origin().column == 10);
  CHECK(value.members()[0].key_origin.column == 2);
  for (const char* bad : {"", "1\nw = 2", "[1", "yes", "1979-05-27", "1 2", "\xFF"}) {
    CHECK_THROWS_AS(trivet::read_toml_value(bad), ConfigError);
    CHECK_FALSE(trivet::try_read_toml_value(bad).has_value());
  }
  CHECK(trivet::try_read_toml_value("[1]").value() == Value::array({1}));
}

TEST_CASE("written TOML reads back to an equal value") {
  trivet::test::RandomValues random(20240229);
  for (int i = 0; i < 2000; ++i) {
    const Value table = random.table();
    const std::string text = trivet::write_toml(table, {.origins = i % 2 == 0, .header = "x\ny"});
    CAPTURE(text);
    REQUIRE(trivet::read_toml(text, "x.toml") == table);
  }
}

TEST_CASE("numbers read back to the same bits") {
  const Value table = Value::table({{"a", Value::array({0.1, 1e23, 5e-324, -0.0, 1e16})}});
  const Value back = trivet::read_toml(trivet::write_toml(table), "x");
  for (std::size_t i = 0; i < 5; ++i) {
    const double was = table.find("a")->items()[i].as_float();
    const double is = back.find("a")->items()[i].as_float();
    CHECK(std::signbit(was) == std::signbit(is));
    CHECK(was == is);
  }
}

TEST_CASE("a written config has keys before sections, and locations on request") {
  Value root = trivet::read_toml(
      "[task]\ntype = 'a/B'\n[task.model]\nw = [1]\n[[task.layers]]\nx = "
      "1\n[[task.layers]]\n[e.f]\n",
      "x.toml");
  root.set("seed", 1).set_origin(
      {.file = "command line", .line = 1, .column = 6, .note = "seed=1"});
  CHECK(trivet::write_toml(root, {.origins = true, .header = "made by hand"}) ==
        "# made by hand\n"
        "seed = 1  # command line:1:6 (seed=1)\n"
        "\n[task]\n"
        "type = \"a/B\"  # x.toml:2:8\n"
        "\n[task.model]\n"
        "w = [1]  # x.toml:4:5\n"
        "\n[[task.layers]]\n"
        "x = 1  # x.toml:6:5\n"
        "\n[[task.layers]]\n"
        "\n[e.f]\n");
}

TEST_CASE("a long array is folded, nulls are omitted") {
  Value words = Value::array();
  for (int i = 0; i < 20; ++i) words.push_back("word number " + std::to_string(i));
  const Value table = Value::table({{"words", words}, {"nothing", Value()}});
  const std::string text = trivet::write_toml(table);
  CHECK_THAT(text, Catch::StartsWith("words = [\n  \"word number 0\",\n"));
  CHECK_THAT(text, !Catch::Contains("nothing"));
}

TEST_CASE("text that is not UTF-8 is not written") {
  CHECK_THROWS_WITH(trivet::write_toml(Value::table({{"a", Value::table({{"b", "\xFF"}})}})),
                    Catch::Contains("a.b"));
  CHECK_THROWS_AS(trivet::write_toml(Value::table({{"\xFF", 1}})), trivet::Error);
}
