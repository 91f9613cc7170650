// SPDX-License-Identifier: Apache-2.0
// The check of braces (.ci/braces) finds a statement of several lines without braces, and writes
// them.
#include <string>

#include <catch2/catch.hpp>

#include "support/paths.h"
#include "support/shell.h"

namespace braces_test {

using namespace trivet::test;

namespace {

const std::string kPlain =
    "int f(int n) {\n"
    "  if (n > 3) return 1;  // if (n\n"
    "  for (int i = 0; i < n; ++i) n += i;\n"
    "  if (n == 2) {\n"
    "    n = 3;\n"
    "  } else {\n"
    "    n = 4;\n"
    "  }\n"
    "  do {\n"
    "    --n;\n"
    "  } while (n > 0);\n"
    "  // while (n)\n"
    "  const char* text = R\"(if (n)\n  return;)\";\n"
    "  if constexpr (sizeof(int) == 4) return text[0];\n"
    "  return 0;\n"
    "}\n";

// A repository of one file.
class Source {
 public:
  explicit Source(const std::string& text) {
    dir_.write("a.cpp", text);
    shell(in_it("git init -q && git add -A"));
  }

  ShellResult check(const std::string& options = {}) const {
    return shell(in_it(quoted((source_root() / ".ci/braces").string()) + options));
  }
  std::string text() const { return shell(in_it("cat a.cpp")).output; }

 private:
  std::string in_it(const std::string& command) const {
    return "cd " + quoted(dir_.path().string()) + " && " + command;
  }

  TempDir dir_;
};

}  // namespace

TEST_CASE("the check of braces accepts blocks, and statements of one line without braces") {
  const Source source(kPlain);
  const ShellResult result = source.check();
  CHECK(result.output.empty());
  CHECK(result.exit_code == 0);
  CHECK(source.check(" --fix").exit_code == 0);
  CHECK(source.text() == kPlain);
}

TEST_CASE(
    "the check of braces finds each body of a statement of several lines, and --fix mends it") {
  const Source source(
      "void f(int n) {\n"
      "  if (n > 3)\n"
      "    g(\"}\");  // why\n"
      "  for (int i : all)\n"
      "    if (i == n) h(i);\n"
      "  if (n) g(1);\n"
      "  else if (n == 2) { g(2); }\n"
      "  else g(3);\n"
      "  while (n) g(\n"
      "      n);\n"
      "}\n");
  const ShellResult result = source.check();
  CHECK(result.exit_code == 1);
  std::string told;
  for (const char* line : {"2", "4", "6", "8", "9"}) {
    told += std::string("a.cpp:") + line +
            ": a statement of several lines needs braces (run ./dev format)\n";
  }
  CHECK(result.output == told);
  CHECK(source.check(" --fix").exit_code == 0);
  CHECK(source.check().output.empty());
  CHECK(source.text() ==
        "void f(int n) {\n"
        "  if (n > 3) {\n"
        "    g(\"}\");  // why\n"
        "}\n"
        "  for (int i : all) {\n"
        "    if (i == n) h(i);\n"
        "}\n"
        "  if (n) { g(1);\n"
        "}\n"
        "  else if (n == 2) { g(2); }\n"
        "  else { g(3);\n"
        "}\n"
        "  while (n) { g(\n"
        "      n);\n"
        "}\n"
        "}\n");
}

}  // namespace braces_test
