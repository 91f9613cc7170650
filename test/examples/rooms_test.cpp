// SPDX-License-Identifier: Apache-2.0
// The check of the layout (.ci/rooms) accepts a tree that follows rooms.txt, and refuses each way
// to leave it.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/paths.h"
#include "support/shell.h"

namespace rooms_test {

using namespace trivet::test;
using Catch::Contains;

namespace {

const std::string kRooms =
    "sdk  base ops\n"
    "runtime  base cli\n"
    "plugins/one\n"
    "plugins/two  low high\n"
    "no-header  plugins/*/plugin.cpp  # what the loader finds\n";

const std::string kPage =
    "`text.h` is in `base/`.\n"
    "## The floors of `runtime/`\n| `base/` | |\n| `cli/` | |\n"
    "## The floors of `sdk/src/`\n| `base/` | |\n| `ops/` | |\n"
    "## The floors of `plugins/`\n| `two/low/` | |\n| `two/high/` | |\n";

// A repository with a few files of each building.
class Tree {
 public:
  Tree() {
    write("rooms.txt", kRooms);
    write("docs/architecture.md", kPage);
    write("sdk/include/trivet/base/export.h", "");
    write("sdk/include/trivet/ops.h", "#include \"trivet/base/export.h\"\n");
    write("sdk/include/trivet/tape.h", "class TRIVET_API Tape {\n};\n");
    write("sdk/src/ops/tape.cpp", "#include \"trivet/tape.h\"\n");
    write("runtime/base/text.h", "#include <string>\n");
    write("runtime/base/text_utf8.cpp", "#include \"base/text.h\"\n");
    write("runtime/cli/menu.h", "#include \"base/text.h\"\nclass Menu : Text {\n};\n");
    write("plugins/one/plugin.cpp", "#include \"trivet/ops.h\"\n");
    write("plugins/two/low/sum.h", "struct Sum {\n  int sum;\n};\nstruct Other {\n};\n");
    write("plugins/two/high/mean.h", "#include \"two/low/sum.h\"\n");
    write("test/runtime/base/text_test.cpp", "");
    write("test/runtime/base/text/lines_test.cpp", "");
    shell(within("git init -q"));
  }

  void write(const std::string& file, const std::string& text) const { dir_.write(file, text); }

  ShellResult check() const {
    return shell(within("git add -A && " + quoted((source_root() / ".ci/rooms").string())));
  }

 private:
  std::string within(const std::string& command) const {
    return "cd " + quoted(dir_.path().string()) + " && " + command;
  }

  TempDir dir_;
};

struct Violation {
  std::string file, text, told;  // told: of what the check says
};

}  // namespace

TEST_CASE("the check of the layout accepts a tree that follows rooms.txt") {
  const Tree tree;
  const ShellResult result = tree.check();
  CHECK(result.output.empty());
  CHECK(result.exit_code == 0);
}

TEST_CASE("the check of the layout refuses what rooms.txt does not allow") {
  const std::vector<Violation> violations = {
      {"sdk/include/trivet/base/up.h", "#include \"trivet/ops.h\"\n",
       "up.h:1: base may not include trivet/ops.h: rooms.txt lists ops later"},
      {"sdk/include/trivet/base/tape_up.h", "\n#include <trivet/tape.h>\n",
       "tape_up.h:2: base may not include trivet/tape.h"},
      {"runtime/base/angle.h", "  # include <cli/menu.h>\n",
       "angle.h:1: base may not include cli/menu.h"},
      {"runtime/base/dots.h", "#include \"../cli/menu.h\"\n", "base may not include ../cli/menu.h"},
      {"runtime/base/plugin.h", "#include \"two/low/sum.h\"\n", "two/low/sum.h is not for runtime"},
      {"runtime/base/lost.h", "#include \"gone.h\"\n", "gone.h is not for runtime"},
      {"sdk/src/ops/op.h", "#include <base/text.h>\n", "base/text.h is not for sdk"},
      {"plugins/one/sum.h", "#include \"../two/low/sum.h\"\n", "is not for plugins/one"},
      {"plugins/two/low/up.h", "#include \"two/high/mean.h\"\n", "low may not include two/high"},
      {"plugins/one/more/sum.h", "", "plugins/one/more/sum.h: its folder is not in rooms.txt"},
      {"plugins/three/plugin.cpp", "", "three/plugin.cpp: its folder is not in rooms.txt"},
      {"sdk/src/new/op.h", "", "sdk/src/new/op.h: its folder is not in rooms.txt"},
      {"runtime/base/text.hpp", "", "text.hpp: sources end with .h and .cpp"},
      {"runtime/base/alone.cpp", "", "alone.cpp: its room has no header of its name"},
      {"runtime/cli/text.cpp", "", "cli/text.cpp: its room has no header of its name"},
      {"test/runtime/cli/tape_test.cpp", "", ""},  // tape is not of the runtime: allowed
      {"test/runtime/cli/dots_test.cpp", "", "the tests of dots are in test/runtime/base"},
      {"test/runtime/gone/no_test.cpp", "", "no source has its tests in test/runtime/gone"},
      {"runtime/base/words.h", "int f();\nclass Word2 {\n};\n", "words.h: defines Word2 and has"},
      {"runtime/base/line.h", "struct Page {\n private:\n  int n;\n};\n", "line.h: defines Page"},
      {"runtime/base/file.h", "int f() { return ::open(\"x\", 0); }\n", "file.h: calls ::open"},
      {"docs/architecture.md", kPage + "`plugin.cpp` `none.h`\n| `base/` | |\n",
       "none.h is the name of 0"},
      {"rooms.txt", kRooms + "other-name  plugins/one/*\n", "excepts no file by plugins/one/*"},
  };
  const Tree tree;
  for (const Violation& violation : violations) tree.write(violation.file, violation.text);
  const ShellResult result = tree.check();
  CHECK(result.exit_code == 1);
  for (const Violation& violation : violations) {
    INFO(violation.file << ": " << violation.text);
    CHECK_THAT(result.output, Contains(violation.told));
  }
  // And nothing else: the page also has a name of several files and a row too many.
  CHECK_THAT(result.output, Contains("plugin.cpp is the name of 2 files; write the path of one"));
  CHECK_THAT(result.output, Contains("its table of plugins/ is not that of rooms.txt"));
  CHECK(std::count(result.output.begin(), result.output.end(), '\n') ==
        static_cast<std::ptrdiff_t>(violations.size()) + 1);
}

TEST_CASE(
    "the check of the layout excepts what rooms.txt lists, and counts the files of a folder") {
  const Tree tree;
  tree.write("runtime/base/words.h", "class Line {\n};\n");
  tree.write("rooms.txt", kRooms + "other-name  runtime/base/words.h\n");
  for (int i = 0; i < 30; ++i) tree.write("plugins/one/part" + std::to_string(i) + ".h", "");
  CHECK(tree.check().output == "plugins/one: holds 31 source files; 30 are the most\n");
}

}  // namespace rooms_test
