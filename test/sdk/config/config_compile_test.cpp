// SPDX-License-Identifier: Apache-2.0
// Mistakes in a TRIVET_CONFIG list do not compile, and the compiler's message explains them.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

namespace {

// The message of the compiler that built this test for a source with `body`; empty if it compiles.
std::string complaint(const std::string& body) {
  char name[] = "/tmp/trivet_compile_XXXXXX";
  REQUIRE(mkdtemp(name) != nullptr);
  const std::string source = std::string(name) + "/t.cpp";
  std::ofstream(source) << "#include \"trivet/config.h\"\n" << body << "\n";
  const std::string command =
      std::string(TRIVET_TEST_COMPILER) + " -std=c++20 -fsyntax-only " + source + " 2>&1";
  std::string said;
  FILE* const pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) {
    said.append(buffer, count);
  }
  const int status = pclose(pipe);
  std::filesystem::remove_all(name);
  CHECK((status == 0) == said.empty());
  return said;
}

using Catch::Contains;

}  // namespace

TEST_CASE("a correct list compiles") {
  CHECK(complaint("struct A { int x = 0; std::string y; };\n"
                  "TRIVET_CONFIG(A, trivet::NoBase, (x, \"X.\"), (y, \"Y.\"))\n"
                  "struct B : A { int z = 0; };\n"
                  "TRIVET_CONFIG(B, A, (z, \"Z.\"))\n"
                  "static_assert(!trivet::schema_json<B>().empty());")
            .empty());
}

TEST_CASE("a member that is missing from the list is found") {
  CHECK_THAT(complaint("struct A { int x = 0; std::optional<int> y; };\n"
                       "TRIVET_CONFIG(A, trivet::NoBase, (x, \"X.\"))"),
             Contains("A: a member or the base struct is missing from the list"));
}

TEST_CASE("a duplicate member in the list is found") {
  CHECK_THAT(complaint("struct A { int x = 0; };\n"
                       "TRIVET_CONFIG(A, trivet::NoBase, (x, \"X.\"), (x, \"X.\"))"),
             Contains("A: a member is in the list twice"));
}

TEST_CASE("a base struct that is not named is found") {
  CHECK_THAT(complaint("struct A { int x = 0; };\n"
                       "TRIVET_CONFIG(A, trivet::NoBase, (x, \"X.\"))\n"
                       "struct B : A { int z = 0; };\n"
                       "TRIVET_CONFIG(B, trivet::NoBase, (z, \"Z.\"))"),
             Contains("B: a member or the base struct is missing"));
}

TEST_CASE("a struct that is not an aggregate is refused") {
  CHECK_THAT(complaint("struct A { int x = 0; A(int); };\n"
                       "TRIVET_CONFIG(A, trivet::NoBase, (x, \"X.\"))"),
             Contains("A: a config is a plain struct"));
}

TEST_CASE("a member of a type without a TOML form is refused") {
  CHECK_THAT(complaint("struct A { void* x = nullptr; };\n"
                       "TRIVET_CONFIG(A, trivet::NoBase, (x, \"X.\"))\n"
                       "auto text = trivet::schema_json<A>();"),
             Contains("a config member has a type without a TOML form"));
  CHECK_THAT(complaint("struct I { int x = 0; };\nstruct A { I x; };\n"
                       "TRIVET_CONFIG(A, trivet::NoBase, (x, \"X.\"))\n"
                       "auto text = trivet::schema_json<A>();"),
             Contains("a config member is a struct without a TRIVET_CONFIG list"));
  CHECK_THAT(complaint("enum class E { a };\nstruct A { E x = E::a; };\n"
                       "TRIVET_CONFIG(A, trivet::NoBase, (x, \"X.\"))\n"
                       "auto text = trivet::schema_json<A>();"),
             Contains("a config member is an enum without a TRIVET_ENUM list"));
}

TEST_CASE("a range on a text and choices on a number are refused") {
  CHECK_THAT(complaint("struct A { std::string x; };\n"
                       "TRIVET_CONFIG(A, trivet::NoBase, (x, \"X.\", at_least(1)))\n"
                       "auto text = trivet::schema_json<A>();"),
             Contains("error_bounds_are_for_numbers"));
  CHECK_THAT(complaint("struct A { int x = 0; };\n"
                       "TRIVET_CONFIG(A, trivet::NoBase, (x, \"X.\", choices(\"a\")))\n"
                       "auto text = trivet::schema_json<A>();"),
             Contains("error_choices_are_for_strings"));
}

TEST_CASE("an enumerator that is missing from the list is found") {
  CHECK_THAT(complaint("enum class E { a, b };\nTRIVET_ENUM(E, a)"),
             Contains("not handled in switch"));
}

TEST_CASE("a class without a usable constructor is refused with the reason", "[slow]") {
  const auto plugin = [](const std::string& body, const std::string& name = "acme") {
    return complaint(
        "#include \"trivet/plugin.h\"\n#include \"trivet/schedule.h\"\n"
        "struct OwnConfig : trivet::ScheduleConfig { int x = 0; };\n"
        "TRIVET_CONFIG(OwnConfig, trivet::ScheduleConfig, (x, \"X.\"))\n"
        "struct Own : trivet::Schedule {\n" +
        body + "};\nTRIVET_PLUGIN(({.name = \"" + name +
        "\", .version = \"1.0.0\", .license = \"MIT\"}),\n"
        "trivet::schedule<Own>(\"Own\", \"An own one.\"))");
  };
  const std::string config = "using Config = OwnConfig;\nexplicit Own(const Config&) {}\n";
  const std::string value = "double value(std::int64_t) const override { return 0; }\n";
  CHECK(plugin(config + value) == "");
  CHECK_THAT(plugin(config), Contains("does not override all pure virtual functions"));
  CHECK_THAT(plugin("explicit Own(const OwnConfig&) {}\n" + value),
             Contains("needs a constructor T(Config)") && Contains("`using Config = ..`"));
  CHECK(plugin(config + value, std::string(100, 'a')) == "");
  CHECK_THAT(plugin(config + value, std::string(101, 'a')), Contains("up to 100 lower case"));
}
