// SPDX-License-Identifier: Apache-2.0
// The exact messages for wrong configs: location, quoted line, caret, suggestion, exit code 2, and
// nothing created.
#include <set>

#include <catch2/catch.hpp>

#include "support/paths.h"
#include "support/plugin_folder.h"
#include "support/shell.h"

namespace config_errors_test {

using trivet::test::PluginFolder;
using trivet::test::quoted;
using trivet::test::ShellResult;

namespace {

const std::string kGood =
    "[task]\n"
    "type = \"demo/Task\"\n"
    "[task.model]\n"
    "type = \"demo/Mlp\"\n"
    "[task.train_input]\n"
    "type = \"demo/Noise\"\n"
    "batch_size = 16\n"
    "[trainer]\n"
    "type = \"demo/Trainer\"\n"
    "train_steps = 100\n"
    "[runtime]\n"
    "backend = \"demo/Backend\"\n";

// A folder to work in, the demo plugin and the program.
class Workplace {
 public:
  explicit Workplace(const std::string& config = kGood) {
    plugins_.copy("demo");
    folder_.write("c.toml", config);
  }

  const trivet::test::TempDir& folder() const { return folder_; }

  ShellResult run(const std::string& words) const {
    return trivet::test::shell("cd " + quoted(folder_.path().string()) + " && " +
                               plugins_.trivet() + " " + words);
  }

  // The complete output of a command that must reject this config with exit code 2 and leave no
  // trace. A run prints the same as `config show`.
  std::string refused(const std::string& words = "c.toml") const {
    const std::string text = refusal("config show " + words);
    CHECK(refusal("run " + words) == text);
    return text;
  }

 private:
  std::string refusal(const std::string& words) const {
    const auto before = files();
    ShellResult result = run(words);
    CHECK(result.exit_code == 2);
    CHECK(files() == before);
    // The plugin search path depends on the machine.
    for (std::size_t at = 0; (at = result.output.find("; searched ", at)) != std::string::npos;) {
      result.output.erase(at, result.output.find('\n', at) - at);
    }
    return result.output;
  }

  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      names.insert(entry.path().string());
    }
    return names;
  }

  PluginFolder plugins_;
  trivet::test::TempDir folder_;
};

std::string refused(const std::string& config) {
  return Workplace(config).refused();
}

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

using Catch::Contains;
using Catch::StartsWith;

TEST_CASE("the valid config is valid") {
  const ShellResult result = Workplace().run("config show c.toml");
  INFO(result.output);
  CHECK(result.exit_code == 0);
  CHECK_THAT(result.output,
             Contains("\n[task.train_input]\ntype = \"demo/Noise\"\nbatch_size = 16\n"));
}

TEST_CASE("an unknown key, near") {
  CHECK(refused(replaced("batch_size", "batch_sise")) ==
        "error: c.toml:5:1: task.train_input: the required key 'batch_size' is missing\n"
        "    5 | [task.train_input]\n"
        "      | ^ Examples per batch on this host.\n"
        "error: c.toml:7:1: task.train_input.batch_sise: unknown key 'batch_sise'\n"
        "    7 | batch_sise = 16\n"
        "      | ^^^^^^^^^^ did you mean 'batch_size'?\n"
        "2 problems in the config\n");
}

TEST_CASE("an unknown key, far") {
  CHECK(refused(replaced("type = \"demo/Mlp\"", "type = \"demo/Mlp\"\n  color = 1")) ==
        "error: c.toml:5:3: task.model.color: unknown key 'color'\n"
        "    5 |   color = 1\n"
        "      |   ^^^^^ known: hidden_dims, activation, dropout, shape, has_bias\n");
}

TEST_CASE("a key in the wrong table") {
  CHECK(refused(replaced("train_steps = 100", "train_steps = 100\nhidden_dims = [3]")) ==
        "error: c.toml:11:1: trainer.hidden_dims: unknown key 'hidden_dims'\n"
        "   11 | hidden_dims = [3]\n"
        "      | ^^^^^^^^^^^ it is in the wrong table: 'hidden_dims' belongs to [task.model]\n");
}

TEST_CASE("a table at the top that belongs further down") {
  CHECK_THAT(refused("[model]\nhidden_dims = [3]\n" + kGood),
             Contains("model: unknown key 'model'") &&
                 Contains("it is in the wrong table: 'model' belongs to [task]"));
}

TEST_CASE("an unknown key, abbreviated") {
  CHECK_THAT(refused(replaced("train_steps = 100", "train_steps = 100\nsteps = 3")),
             Contains("did you mean 'train_steps'"));
  CHECK_THAT(refused(replaced("batch_size = 16", "batch_size = 16\nbs = 3")),
             Contains("did you mean 'batch_size'?"));
}

TEST_CASE("the caret is below its word after characters of width two or zero") {
  // Three wide characters and a combining accent.
  CHECK_THAT(refused(replaced("= 16", "= 16\nextra = {\"准确率\" = 1, \"e\xCC\x81\" = 2, x = [}")),
             Contains("    8 | extra = {\"准确率\" = 1, \"e\xCC\x81\" = 2, x = [}\n"
                      "      |                                      ^"));
}

TEST_CASE("a value of the wrong type") {
  CHECK(refused(replaced("= 16", "= \"16\"")) ==
        "error: c.toml:7:14: task.train_input.batch_size: expected an integer, found a string, "
        "\"16\"\n"
        "    7 | batch_size = \"16\"\n"
        "      |              ^^^^\n");
}

TEST_CASE("a value out of range") {
  CHECK(refused(replaced("= 16", "= 0")) ==
        "error: c.toml:7:14: task.train_input.batch_size: must be >= 1, found 0\n"
        "    7 | batch_size = 0\n"
        "      |              ^\n");
}

TEST_CASE("a name that is not one of an enum's") {
  CHECK(refused(replaced("\"demo/Mlp\"", "\"demo/Mlp\"\nshape = 'sqare'")) ==
        "error: c.toml:5:9: task.model.shape: 'sqare' is not one of: round, square\n"
        "    5 | shape = 'sqare'\n"
        "      |         ^^^^^^^ did you mean 'square'?\n");
}

TEST_CASE("a missing required key, and an empty config") {
  CHECK_THAT(refused(""), StartsWith("error: c.toml:1:1: the required key 'task' is missing\n"));
  CHECK_THAT(refused(replaced("batch_size = 16\n", "")),
             StartsWith("error: c.toml:5:1: task.train_input: the required key 'batch_size' is "
                        "missing\n"));
}

TEST_CASE("an unknown type, an unknown plugin, a type of another kind") {
  CHECK(refused(replaced("\"demo/Mlp\"", "\"demo/Mlpp\"")) ==
        "error: c.toml:4:8: task.model: there is no model 'demo/Mlpp'\n"
        "    4 | type = \"demo/Mlpp\"\n"
        "      |        ^^^^^^^^^^^ did you mean 'demo/Mlp'?\n");
  CHECK_THAT(refused(replaced("\"demo/Mlp\"", "\"dema/Mlp\"")),
             StartsWith("error: c.toml:4:8: task.model: there is no model 'dema/Mlp'\n"
                        "    4 | type = \"dema/Mlp\"\n"
                        "      |        ^^^^^^^^^^ did you mean 'demo/Mlp'?"));
  CHECK_THAT(refused(replaced("\"demo/Mlp\"", "\"demo/Relu\"")),
             StartsWith("error: c.toml:4:8: task.model: there is no model 'demo/Relu'\n"
                        "    4 | type = \"demo/Relu\"\n"
                        "      |        ^^^^^^^^^^^ it is a layer; did you mean 'demo/Mlp'?"));
  CHECK_THAT(refused(replaced("\"demo/Backend\"", "\"demo/Bakend\"")),
             Contains("c.toml:12:11: runtime.backend: there is no backend 'demo/Bakend'"));
  CHECK_THAT(
      refused(kGood + "[backend.\"demo/Backend\"]\narena = 1\n"),
      StartsWith("error: c.toml:14:1: backend.\"demo/Backend\".arena: unknown key 'arena'\n"));
}

// Suggestions include defaults, which plugins built by clang 14 lack.
TEST_CASE("a bad reference and a reference cycle", "[nosan]") {
  CHECK(refused(replaced("= 16", "= \"${task.clases}\"")) ==
        "error: c.toml:7:14: task.train_input.batch_size: bad reference: no value at "
        "'task.clases'\n"
        "    7 | batch_size = \"${task.clases}\"\n"
        "      |              ^^^^^^^^^^^^^^^^ did you mean 'task.classes'?\n");
  CHECK(
      refused(replaced("= 16", "= '${trainer.train_steps}'\nseed = '${task.train_input.seed}'")) ==
      "error: c.toml:8:8: task.train_input.seed: reference cycle: task.train_input.seed -> "
      "task.train_input.seed\n"
      "    8 | seed = '${task.train_input.seed}'\n"
      "      |        ^^^^^^^^^^^^^^^^^^^^^^^^^^\n");
}

TEST_CASE("a base cycle and a base that is missing") {
  Workplace location("base = ['sub/b.toml']\n");
  location.folder().write("sub/b.toml", "seed = 1\nbase = [\"../c.toml\"]\n");
  CHECK(location.refused() ==
        "error: sub/b.toml:2:9: base: base cycle: c.toml -> sub/b.toml -> c.toml\n"
        "    2 | base = [\"../c.toml\"]\n"
        "      |         ^^^^^^^^^^^ a config cannot be based on itself\n");
  location.folder().write("sub/b.toml", "base = [\"d.toml\"]\n");
  CHECK(location.refused() ==
        "error: sub/b.toml:1:9: 'sub/d.toml': cannot open this config: No such file or directory\n"
        "    1 | base = [\"d.toml\"]\n"
        "      |         ^^^^^^^^ did you mean 'b.toml'?\n");
}

TEST_CASE("mistakes in overrides show the override with a caret") {
  const Workplace location;
  CHECK(location.refused("c.toml seed=1 trainer.train_stepz=4") ==
        "error: command line:2:9: trainer.train_stepz: unknown key 'train_stepz'\n"
        "      | trainer.train_stepz=4\n"
        "      |         ^^^^^^^^^^^ did you mean 'train_steps'?\n");
  CHECK(location.refused("c.toml --cfg.trainer.train_steps=x") ==
        "error: command line:1:27: trainer.train_steps: 'x' is not an integer\n"
        "      | --cfg.trainer.train_steps=x\n"
        "      |                           ^ write an integer\n");
  CHECK(location.refused("c.toml 'seed[1' ~task.eval_input") ==
        "error: command line:1:5: bad override: ']' is missing\n"
        "      | seed[1\n"
        "      |     ^\n"
        "error: command line:2:7: task.eval_input: nothing to remove\n"
        "      | ~task.eval_input\n"
        "      |       ^^^^^^^^^^\n"
        "2 problems in the config\n");
}

TEST_CASE("an override of a table that belongs further down says where, and amounts have units") {
  const Workplace location;
  CHECK(location.refused("c.toml 'model.hidden_dims=[3]'") ==
        "error: command line:1:1: model: unknown key 'model'\n"
        "      | model.hidden_dims=[3]\n"
        "      | ^^^^^ it is in the wrong table: 'model' belongs to [task]\n");
  const ShellResult found = location.run("config show c.toml 'task.model.hidden_dims=[3]'");
  CHECK(found.exit_code == 0);
  const ShellResult amount = location.run("config show c.toml runtime.memory_limit=4GiB");
  INFO(amount.output);
  CHECK(amount.exit_code == 0);
  CHECK_THAT(amount.output, Contains("\nmemory_limit = \"4GiB\"\n"));
  CHECK_THAT(location.refused("c.toml runtime.memory_limit=4Gi"),
             StartsWith("error: command line:1:22: runtime.memory_limit:"));
}

TEST_CASE("a key given twice, text that is not TOML, text that is not UTF-8") {
  CHECK_THAT(refused(replaced("= 16", "= 16\nbatch_size = 17")),
             StartsWith("error: c.toml:8:") && Contains("    8 | batch_size = 17\n"));
  CHECK_THAT(refused("seed = \n"), StartsWith("error: c.toml:1:"));
  CHECK(refused("name = \"\xFF\"\n") ==
        "error: c.toml:1:9: the file is not UTF-8 text\n"
        "    1 | name = \"?\"\n"
        "      |         ^ save the file as UTF-8\n");
}

TEST_CASE("10 MB, 10,000 levels, a folder, a missing file") {
  CHECK(refused("#" + std::string(10'000'000, 'x')) ==
        "error: c.toml: larger than 8 MiB, the limit of a config\n"
        "       put data into separate files that the config names\n");
  CHECK_THAT(refused("seed = " + std::string(10000, '[')),
             StartsWith("error: c.toml:1:108: nested deeper than 100 levels\n    1 | ...[[["));
  const Workplace location;
  CHECK(location.refused(".") == "error: .: the path is a directory, not a config file\n");
  CHECK(location.refused("d.toml") ==
        "error: d.toml: cannot open this config: No such file or directory\n"
        "       did you mean 'c.toml'?\n");
}

TEST_CASE("all errors are reported at once, in the order of their locations") {
  const std::string text = Workplace("seed = 'x'\n" + kGood + "[zzz]\n")
                               .refused("c.toml trainer.max_to_keep=-1 mode=trane");
  CHECK_THAT(text, StartsWith("error: c.toml:1:8: seed: ") &&
                       Contains("error: c.toml:14:2: zzz: ") &&
                       Contains("error: command line:1:21: trainer.max_to_keep: ") &&
                       Contains("error: command line:2:6: mode: 'trane' is not one of: ") &&
                       Catch::EndsWith("4 problems in the config\n"));
}

TEST_CASE(
    "the rules of a config struct are checked with everything else, before anything is created") {
  const std::string broken =
      replaced("\"demo/Mlp\"", "\"demo/Mlp\"\ndropout = 0.5\nhas_bias = false");
  CHECK(refused(broken) ==
        "error: c.toml:5:11: task.model.dropout: needs a bias\n"
        "    5 | dropout = 0.5\n"
        "      |           ^^^ set has_bias = true\n");
  // With an error in another table, with the rules of a base struct, and with an override.
  CHECK(Workplace("seed = 'x'\n" + broken)
            .refused("c.toml --set task.train_input.infeed_host_index=3") ==
        "error: c.toml:1:8: seed: expected an integer, found a string, \"x\"\n"
        "    1 | seed = 'x'\n"
        "      |        ^^^\n"
        "error: c.toml:6:11: task.model.dropout: needs a bias\n"
        "    6 | dropout = 0.5\n"
        "      |           ^^^ set has_bias = true\n"
        "error: command line:1:42: task.train_input.infeed_host_index: must be less than "
        "num_infeed_hosts (1), is 3\n"
        "      | --set task.train_input.infeed_host_index=3\n"
        "      |                                          ^\n"
        "3 problems in the config\n");
  // A default has no location, so its table is shown.
  CHECK_THAT(refused(replaced("batch_size = 16", "batch_size = 16\ninfeed_host_index = 1")),
             StartsWith("error: c.toml:8:21: task.train_input.infeed_host_index: "));
  CHECK_THAT(
      Workplace(kGood + "[backend.\"demo/Backend\"]\narenas = 3\n").refused(),
      StartsWith("error: c.toml:14:10: backend.\"demo/Backend\".arenas: must be 1 or even\n"));
}

TEST_CASE("a table that does not match its schema is not checked against its rules") {
  CHECK(refused(replaced("\"demo/Mlp\"", "\"demo/Mlp\"\ndropout = 2\nhas_bias = false")) ==
        "error: c.toml:5:11: task.model.dropout: must be in [0, 1), found 2\n"
        "    5 | dropout = 2\n"
        "      |           ^\n");
}

TEST_CASE(
    "a plugin that cannot be loaded is reported before anything is created, after other errors") {
  const Workplace location;
  const PluginFolder others;
  others.copy("undefined_symbol");
  const std::string words = " c.toml trainer.learning_rate=undefined_symbol/Lost --plugin-dir " +
                            quoted(others.path().string());
  for (const char* command : {"config show", "run"}) {
    const ShellResult result = location.run(command + words);
    CHECK(result.exit_code == 3);
    CHECK_THAT(result.output, Contains("trainer.learning_rate: the plugin cannot be used: ") &&
                                  Contains("undefined symbol nowhere::to_be_found(int)"));
    CHECK_FALSE(std::filesystem::exists(location.folder() / "runs"));
  }
  CHECK_THAT(location.refused(words + " seed=x"),
             StartsWith("error: command line:2:6: seed: 'x' is not an integer\n"));
}

TEST_CASE("a control character in a config does not reach the terminal") {
  const std::string text = refused("\"a\\u001b[31m\" = 1\nb\x1b = 2\n");
  CHECK(text.find('\x1b') == std::string::npos);
}

}  // namespace config_errors_test
