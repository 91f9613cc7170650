// SPDX-License-Identifier: Apache-2.0
// The README and every page of docs/: runs each block unchanged, in order, in a separate folder.
// doc_blocks.h describes the settings of a page.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "doc_blocks.h"
#include "program/run/run_fixture.h"
#include "support/paths.h"
#include "support/plugin_folder.h"
#include "support/shell.h"

namespace docs_test {

using namespace trivet::test;
namespace fs = std::filesystem;

namespace {

// A reader with a built trivet and the plugin of sdk/examples, in the source directory.
class Reader {
 public:
  Reader() {
    plugins_.copy("examples");
    fs::create_directory_symlink(source_root() / "configs", folder_ / "configs");
    fs::create_directory_symlink(source_root() / "sdk", folder_ / "sdk");
    fs::create_directory(folder_ / "home");
  }
  ~Reader() { call("for xid in 1 2 3; do trivet cancel $xid; done"); }

  ShellResult call(const std::string& command) const {
    const std::string here = quoted(folder_.path().string());
    return shell("cd " + here + " && export HOME=" + here + "/home PATH=" +
                 quoted(program().parent_path().string()) + ":$PATH TRIVET_PLUGIN_PATH=" +
                 quoted(plugin_dir().string() + ":" + plugins_.path().string()) +
                 " XDG_RUNTIME_DIR=" + here + "; unset TRIVET_ROOT XDG_CACHE_HOME; " + command);
  }

  // Returns false if this machine lacks a required file.
  bool follow(const DocBlock& block) {
    if (const std::string* file = block.directive("needs"); file != nullptr && !fs::exists(*file)) {
      WARN("the rest is left out: " << *file << " is missing");
      return false;
    }
    for (const DocBlock::Directive& one : block.directives) {
      if (one.name == "before") must_end_with(one.words, call(one.words), 0);
    }
    if (block.kind == "toml") check_config(block);
    if (block.kind == "console") follow_session(block);
    return true;
  }

 private:
  static void must_end_with(const std::string& command, const ShellResult& result, int code) {
    INFO("$ " << command << "\n" << result.output);
    CHECK(result.exit_code == code);
  }

  static int exit_code_of(const DocBlock& block, const std::string& command) {
    for (const DocBlock::Directive& one : block.directives) {
      const std::size_t of = one.words.find(" of ");
      if (one.name != "exit" || of == std::string::npos) continue;
      const std::string begin = one.words.substr(of + 4, one.words.find(',') - of - 4);
      if (command.starts_with(begin)) return std::stoi(one.words);
    }
    return 0;
  }

  // A block with a name in its first line becomes a file of this name for later sessions. Types and
  // names of all other blocks are checked.
  void check_config(const DocBlock& block) {
    const std::string first = block.text.substr(0, block.text.find('\n'));
    const bool named = first.starts_with("# ") && first.ends_with(".toml") &&
                       first.find(' ', 2) == std::string::npos;
    const std::string name = named ? first.substr(2) : "block.toml";
    const std::string* base = block.directive("base");
    const bool own_base =
        block.text.starts_with("base") || block.text.find("\nbase") != std::string::npos;
    const std::string begin =
        base != nullptr && !own_base ? "base = [\"" + *base + "\"]\n" : std::string();
    folder_.write(name, begin + block.text);
    if (named) return;
    const std::string trainer =
        begin.empty() && !own_base && block.text.find("[trainer") == std::string::npos
            ? " trainer.train_steps=1 trainer.learning_rate=1 trainer.optimizer=optim/Sgd"
            : "";
    const std::string command = "trivet config show " + name + " mode=train" + trainer;
    must_end_with(command, call(command), 0);
  }

  void follow_session(const DocBlock& block) {
    for (std::size_t i = 0; i < block.commands.size(); ++i) {
      const DocBlock::Command& step = block.commands[i];
      std::string command = step.text;
      const std::string* instead = i == 0 ? block.directive("as") : nullptr;
      if (instead != nullptr) command = *instead;
      if (const std::string* more = block.directive("with");
          more != nullptr && command.starts_with("trivet run")) {
        const std::size_t comment = command.find(" #");
        command.insert(std::min(comment, command.size()), " " + *more);
      }
      const ShellResult result = call(command);
      must_end_with(command, result, exit_code_of(block, command));
      INFO("$ " << command << "\n" << result.output);
      CHECK(first_missing(step.expected, result.output) == "");
    }
  }

  TempDir folder_;
  PluginFolder plugins_;
};

void follow_page(const fs::path& page) {
  Reader reader;
  for (const DocBlock& block : blocks_of(page)) {
    if (block.directive("page") != nullptr) return;
    if (block.directive("not run") != nullptr) continue;
    INFO(page.filename().string() << ":" << block.line);
    if (!reader.follow(block)) return;
  }
}

}  // namespace

TEST_CASE("the commands of the README work as written", "[slow]") {
  follow_page(doc_pages().front());
}

TEST_CASE("the commands of the docs work as written", "[slow]") {
  const std::vector<fs::path> all = doc_pages();
  REQUIRE(all.size() > 4);
  for (std::size_t i = 1; i < all.size(); ++i) follow_page(all[i]);
}

TEST_CASE("a line of a page matches the output of another machine") {
  CHECK(is_as_shown("step 5 of 5 in 10 s", "step 5 of 5 in 1 m 03 s"));
  CHECK_FALSE(is_as_shown("step 5 of 5 in 10 s", "step 6 of 5 in 10 s"));
  CHECK(is_as_shown("accuracy 0.8948  seed 1", "accuracy 0.8901 seed 1"));
  CHECK_FALSE(is_as_shown("accuracy 0.8948", "accuracy 0.7"));
  CHECK(is_as_shown("eval loss=0.38 seconds=0.08", "eval loss=0.38 seconds=2.5"));
  CHECK(is_as_shown("Highway 1.0.3 ...", "Highway 1.0.3 on another machine"));
  CHECK_FALSE(is_as_shown("407,050 parameters", "407,051 parameters"));
  CHECK(first_missing({"a", "...", "b 1"}, "a\nc\nb 1\n") == "");
  CHECK(first_missing({"b", "a"}, "a\nb\n") == "a");
}

}  // namespace docs_test
