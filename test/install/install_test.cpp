// SPDX-License-Identifier: Apache-2.0
// `meson install` makes a relocatable tree: the program runs, and other projects build against the
// headers and the pkg-config file alone.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "support/paths.h"
#include "support/shell.h"
#include "trivet/version.h"

namespace {

using trivet::test::quoted;
using trivet::test::shell;
using trivet::test::ShellResult;
using trivet::test::TempDir;

// The build's products, installed once for all cases and then moved: no file may depend on the
// location of the installation.
class InstalledTree {
 public:
  InstalledTree() {
    const std::filesystem::path staged = dir_.path() / "staged";
    const ShellResult result =
        shell("meson install -C " + quoted(trivet::test::build_root().string()) +
              " --no-rebuild --destdir " + quoted(staged.string()));
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(staged)) {
      if (entry.path().filename() != "trivet-sdk.pc") continue;
      pkgconfig_dir_ = entry.path().parent_path();
    }
    REQUIRE(!pkgconfig_dir_.empty());
    const std::filesystem::path moved = dir_.path() / "moved";
    const std::filesystem::path pkgconfig = std::filesystem::relative(pkgconfig_dir_, staged);
    std::filesystem::rename(staged, moved);
    pkgconfig_dir_ = moved / pkgconfig;
  }

  std::string variable(const std::string& name) const { return pkg_config("--variable=" + name); }

  // `kind` is --cflags, --libs or both.
  std::string flags(const std::string& kind) const { return pkg_config(kind); }

  // What a shell needs to find the files for pkg-config and the library.
  std::string environment() const {
    return "export PKG_CONFIG_PATH=" + quoted(pkgconfig_dir_.string()) +
           " LD_LIBRARY_PATH=" + quoted(pkgconfig_dir_.parent_path().string()) + " && ";
  }

  std::filesystem::path program() const {
    return std::filesystem::path(variable("prefix")) / "bin" / "trivet";
  }

  std::filesystem::path include_dir() const { return variable("includedir"); }
  const std::filesystem::path& scratch() const { return dir_.path(); }

 private:
  std::string pkg_config(const std::string& arguments) const {
    ShellResult result = shell(environment() + "pkg-config " + arguments + " trivet-sdk");
    INFO(result.output);
    REQUIRE(result.exit_code == 0);
    result.output.erase(result.output.find_last_not_of('\n') + 1);
    return result.output;
  }

  TempDir dir_;
  std::filesystem::path pkgconfig_dir_;
};

const InstalledTree& tree() {
  static const InstalledTree installed;
  return installed;
}

// g++ is always available, clang++ only if installed (CI does).
std::vector<std::string> compilers() {
  std::vector<std::string> found = {"g++"};
  for (const char* name : {"clang++-14", "clang++"}) {
    if (shell(std::string("command -v ") + name).exit_code != 0) continue;
    found.emplace_back(name);
    break;
  }
  return found;
}

}  // namespace

TEST_CASE("the installed program runs from the location it was moved to", "[slow]") {
  const ShellResult result = shell(quoted(tree().program().string()) + " --version");
  CHECK(result.exit_code == 0);
  CHECK(result.output.find(trivet::version()) != std::string::npos);
}

TEST_CASE("the installed program finds the plugins installed with it", "[slow]") {
  const ShellResult listing =
      shell("env -u TRIVET_PLUGIN_PATH " + quoted(tree().program().string()) + " plugins");
  INFO(listing.output);
  CHECK(listing.exit_code == 0);
  for (const auto& entry : std::filesystem::directory_iterator(tree().variable("plugindir"))) {
    const std::string name = "\n" + entry.path().stem().string() + " ";  // starts its own line
    CHECK(("\n" + listing.output).find(name) != std::string::npos);
  }
  CHECK(listing.output.find("refused") == std::string::npos);
}

TEST_CASE("the pkg-config file names existing files", "[slow]") {
  CHECK(std::filesystem::is_regular_file(tree().variable("map")));
  CHECK(std::filesystem::is_regular_file(tree().include_dir() / "trivet" / "version.h"));
}

TEST_CASE("every public header compiles outside of this tree, with each compiler", "[slow]") {
  const std::filesystem::path include_dir = tree().include_dir();
  const std::filesystem::path source = tree().scratch() / "all_headers.cpp";
  std::ofstream file(source);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(include_dir / "trivet")) {
    if (!entry.is_regular_file()) continue;
    file << "#include <" << entry.path().lexically_relative(include_dir).string() << ">\n";
  }
  file.close();
  for (const std::string& compiler : compilers()) {
    const ShellResult result = shell(compiler + " " + tree().flags("--cflags") +
                                     " -Wall -Wextra -Wpedantic -Wshadow -Werror -fsyntax-only " +
                                     quoted(source.string()));
    INFO(compiler << ": " << result.output);
    CHECK(result.exit_code == 0);
  }
}

TEST_CASE("the headers for other toolchains are plain C", "[slow]") {
  for (const char* header : {"backend.h", "collective.h"}) {
    const std::filesystem::path path = tree().include_dir() / "trivet/backend" / header;
    const ShellResult result =
        shell("gcc -x c -std=c11 -Wall -Wextra -pedantic-errors -Werror -fsyntax-only -I" +
              quoted(tree().include_dir().string()) + " " + quoted(path.string()));
    INFO(result.output);
    CHECK(result.exit_code == 0);
  }
}

TEST_CASE("a stranger's plugin builds with each compiler and shows its two symbols only",
          "[slow]") {
  const std::filesystem::path source =
      trivet::test::source_root() / "sdk/examples/snippets/acme.cpp";
  for (const std::string& compiler : compilers()) {
    const std::filesystem::path library = tree().scratch() / (compiler + "-acme.so");
    const ShellResult built =
        shell(compiler + " -shared -Wall -Wextra -Werror " + quoted(source.string()) + " -o " +
              quoted(library.string()) + " " + tree().flags("--cflags --libs"));
    INFO(compiler << ": " << built.output);
    REQUIRE(built.exit_code == 0);
    const ShellResult symbols =
        shell("nm -D --defined-only " + quoted(library.string()) + " | sed 's/.* //' | sort");
    CHECK(symbols.output == "trivet_plugin_entry_v1\ntrivet_plugin_note_v1\n");
  }
}

TEST_CASE("the installed examples build with each compiler", "[slow]") {
  const std::filesystem::path source =
      std::filesystem::path(tree().variable("prefix")) / "share/doc/trivet/examples/plugin.cpp";
  for (const std::string& compiler : compilers()) {
    const ShellResult built =
        shell(compiler + " -O2 -shared -Wall -Wextra -Werror " + quoted(source.string()) + " -o " +
              quoted((tree().scratch() / "examples.so").string()) + " " +
              tree().flags("--cflags --libs"));
    INFO(compiler << ": " << built.output);
    CHECK(built.exit_code == 0);
  }
}

TEST_CASE("a program that embeds runs builds and works from the installed tree", "[slow]") {
  const std::filesystem::path source = std::filesystem::path(tree().variable("prefix")) /
                                       "share/doc/trivet/examples/embedded_run.cpp";
  const std::string program = quoted((tree().scratch() / "embedded").string());
  const ShellResult built =
      shell(tree().environment() + "g++ -Wall -Wextra -Werror " + quoted(source.string()) + " -o " +
            program + " $(pkg-config --cflags --libs trivet-host)");
  INFO(built.output);
  REQUIRE(built.exit_code == 0);
  const ShellResult run =
      shell(tree().environment() + program + " " +
            quoted((trivet::test::source_root() / "configs/vision/local.toml").string()) + " " +
            quoted((tree().scratch() / "run").string()));
  INFO(run.output);
  CHECK(run.exit_code == 0);
  CHECK(run.output.find(": validation_loss 0.") != std::string::npos);
}

namespace {

// The C++ block in the README that starts with the name of this file.
std::string readme_source(const std::string& file) {
  const std::string readme = trivet::test::read_file(trivet::test::source_root() / "README.md");
  const std::size_t begin = readme.find("```cpp\n// " + file + "\n");
  REQUIRE(begin != std::string::npos);
  const std::size_t code = begin + std::string("```cpp\n").size();
  return readme.substr(code, readme.find("```", code) - code);
}

// The commands of the README's console block that has this text.
std::string readme_commands(const std::string& text) {
  const std::string readme = trivet::test::read_file(trivet::test::source_root() / "README.md");
  const std::size_t found = readme.find(text);
  REQUIRE(found != std::string::npos);
  std::istringstream block(readme.substr(readme.rfind("```console\n", found)));
  std::string commands, line;
  std::getline(block, line);
  for (bool goes_on = false; std::getline(block, line) && line != "```";) {
    if (goes_on) commands += line + "\n";
    if (line.starts_with("$ ")) commands += line.substr(2) + "\n";
    goes_on = line.ends_with("\\");
  }
  return commands;
}

}  // namespace

// The README's plugin, word for word, as its reader would build and use it.
TEST_CASE("the plugin in the README builds outside of this tree and trains", "[slow]") {
  const std::string source = readme_source("mish.cpp");
  REQUIRE(source.find("TRIVET_PLUGIN") != std::string::npos);
  for (const std::string& compiler : compilers()) {
    const TempDir dir;
    dir.write("mish.cpp", source);
    const std::string here = "cd " + quoted(dir.path().string()) + " && ";
    const ShellResult built =
        shell(here + compiler + " -shared mish.cpp -o acme.so " + tree().flags("--cflags --libs"));
    INFO(compiler << ": " << built.output);
    REQUIRE(built.exit_code == 0);
    const ShellResult run = shell(
        here + quoted(tree().program().string()) + " run " +
        quoted((trivet::test::source_root() / "configs/vision/local.toml").string()) +
        " --workdir run --plugin-dir . task.model.activation=acme/Mish trainer.train_steps=20");
    INFO(run.output);
    CHECK(run.exit_code == 0);
    CHECK(std::filesystem::is_regular_file(dir.path() / "run" / "summary.json"));
  }
}

TEST_CASE("the pages of docs are installed") {
  const std::filesystem::path pages =
      std::filesystem::path(tree().variable("prefix")) / "share" / "doc" / "trivet";
  INFO(pages);
  for (const auto& entry :
       std::filesystem::directory_iterator(trivet::test::source_root() / "docs")) {
    const std::filesystem::path name = entry.path().filename();
    INFO(name);
    CHECK(std::filesystem::exists(pages / name));
  }
  CHECK(std::filesystem::is_regular_file(pages / "getting-started.md"));
}

TEST_CASE("the test of the README's plugin builds outside of this tree and passes", "[slow]") {
  const TempDir dir;
  dir.write("mish.cpp", readme_source("mish.cpp"));
  dir.write("mish_test.cpp", readme_source("mish_test.cpp"));
  // pkg-config prefers the files of the build tree where it finds them.
  const std::filesystem::path build = trivet::test::build_root();
  const std::string of_build =
      "export PKG_CONFIG_PATH=" + quoted((build / "meson-uninstalled").string()) +
      " LD_LIBRARY_PATH=" + quoted((build / "sdk").string()) + " && ";
  const std::string environment = GENERATE_COPY(as<std::string>(), tree().environment(), of_build);
  const std::string here = environment + "cd " + quoted(dir.path().string()) + " && ";
  const ShellResult built =
      shell(here + "g++ -shared mish.cpp -o acme.so $(pkg-config --cflags --libs trivet-sdk)");
  INFO(built.output);
  REQUIRE(built.exit_code == 0);
  const ShellResult tested = shell(here + readme_commands("mish_test.cpp -o mish_test"));
  INFO(tested.output);
  CHECK(tested.exit_code == 0);
  CHECK(tested.output == "the gradients of acme/Mish are right\n");
}
