// SPDX-License-Identifier: Apache-2.0
// The command line around the commands: help, exit codes, options, formats, schema, completion.
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/paths.h"
#include "support/plugin_folder.h"
#include "support/shell.h"
#include "trivet/config/enums.h"
#include "trivet/experiment.h"

using Catch::Contains;
using Catch::StartsWith;
using trivet::test::PluginFolder;
using trivet::test::quoted;
using trivet::test::ShellResult;

namespace {

const char* const kConfig =
    "name = 'x'\n[task]\ntype = 'demo/Task'\nmodel = 'demo/Mlp'\n[task.train_input]\ntype = "
    "'demo/Noise'\nbatch_size = 4\n[trainer]\ntype = 'demo/Trainer'\ntrain_steps = 10\n"
    "learning_rate = 0.5\n[runtime]\nbackend = 'demo/Backend'\n[xp]\nnote = \"é \\\" \\\\ \\n\"\n";

class Workplace {
 public:
  Workplace() {
    plugins_.copy("demo");
    folder_.write("c.toml", kConfig);
  }
  const trivet::test::TempDir& folder() const { return folder_; }
  ShellResult run(const std::string& words) const { return shell(program() + " " + words); }
  // With the folder as the working directory and the demo plugin.
  ShellResult shell(const std::string& command) const {
    const std::string mark = (plugins_.path() / "opened").string();
    return trivet::test::shell("cd " + quoted(folder_.path().string()) +
                               " && export TRIVET_TEST_OPENED=" + quoted(mark) + "; " + command);
  }
  std::string program() const { return plugins_.trivet(); }
  // The plugins opened so far, a line each.
  std::string opened() const {
    const std::filesystem::path mark = plugins_.path() / "opened";
    return std::filesystem::exists(mark) ? trivet::test::read_file(mark) : "";
  }

 private:
  PluginFolder plugins_;
  trivet::test::TempDir folder_;
};

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> list;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) list.push_back(line);
  return list;
}

// The offers of completion for a mode of which these letters are there.
std::vector<std::string> modes_from(const std::string& letters, const std::string& before = {}) {
  std::vector<std::string> list;
  for (const std::string_view mode : trivet::enum_names<trivet::Mode>()) {
    if (mode.starts_with(letters)) list.push_back(before + std::string(mode));
  }
  return list;
}

}  // namespace

TEST_CASE("help names every command, and each has a page") {
  const Workplace location;
  const ShellResult help = location.run("--help");
  CHECK(help.exit_code == 0);
  for (const char* command : {"config", "plugins", "explain", "schema", "completions", "help"}) {
    CHECK_THAT(help.output, Contains(std::string("\n  ") + command));
    const std::string name = command;
    CHECK_THAT(location.run("help " + name).output, StartsWith("usage: trivet " + name));
    CHECK(location.run(name + " --help").output == location.run("help " + name).output);
  }
  CHECK(location.run("").output == help.output);
  CHECK_THAT(help.output, !Contains("__complete"));
  CHECK_THAT(location.run("--version").output, StartsWith("trivet 0."));
}

TEST_CASE("a wrong command line exits with 2 and a hint") {
  const Workplace location;
  struct Row {
    const char* words;
    const char* output;
  };
  const Row row = GENERATE(
      Row{"confg", "error: unknown command 'confg' (did you mean 'config'?)\n"},
      Row{"--frobnicate",
          "error: unknown option '--frobnicate' (options come after the command; "
          "see trivet --help)\n"},
      Row{"config", "error: 'trivet config' needs an action (trivet config show CONFIG)\n"},
      Row{"config shw", "error: 'trivet config' has no action 'shw' (trivet config show CONFIG)\n"},
      Row{"config show c.toml --orgin",
          "error: unknown option '--orgin' (did you mean '--origin'?)\n"},
      Row{"config show c.toml --format yaml",
          "error: unknown format 'yaml' (known: toml, "
          "json)\n"},
      Row{"config show c.toml --format",
          "error: the required argument for option '--format' is "
          "missing\n"},
      Row{"config show seed=1",
          "error: a config file is missing (name one before the overrides, or "
          "--experiment KEY)\n"},
      Row{"config show c.toml d.toml",
          "error: only one config file is allowed; unexpected 'd.toml' (--config_file d.toml "
          "merges it over the first)\n"},
      Row{"config show c.toml --experiment a/b --experiment c/d",
          "error: option '--experiment' is given more than once\n"},
      Row{"help nothing", "error: unknown command 'nothing'"},
      Row{"completions fish", "error: no completions exist for 'fish' (known: bash, zsh)\n"},
      Row{"schema lawyer", "error: unknown kind 'lawyer' (did you mean 'layer'?)\n"},
      Row{"schema demo/Rely",
          "error: unknown key 'demo/Rely'\n       did you mean 'demo/Relu'?\n"});
  CAPTURE(row.words);
  const ShellResult result = location.run(row.words);
  CHECK(result.exit_code == 2);
  CHECK_THAT(result.output, StartsWith(row.output));
}

TEST_CASE("output that cannot be written is an error") {
  const ShellResult result = Workplace().run("--help > /dev/full");
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.output, StartsWith("error: cannot write to standard output"));
}

TEST_CASE("config show prints a complete config, with origins on request") {
  const Workplace location;
  const ShellResult plain = location.run("config show c.toml trainer.train_steps=7 --xp.lr=0.5");
  INFO(plain.output);
  CHECK(plain.exit_code == 0);
  CHECK_THAT(plain.output, Contains("train_steps = 7\n") && Contains("\n[xp]\n") &&
                               Contains("lr = 0.5\n") && Contains("[task.model.activation]\n"));
  const ShellResult origins =
      location.run("config show c.toml --origin --set trainer.train_steps=7");
  CHECK_THAT(origins.output,
             Contains("batch_size = 4  # c.toml:7:14\n") &&
                 Contains("train_steps = 7  # command line:1:27 (--set trainer.train_steps=7)\n") &&
                 Contains("max_to_keep = 5  # default\n"));
  location.folder().write("again.toml", origins.output);
  const std::string first = location.run("config show c.toml trainer.train_steps=7").output;
  CHECK(location.run("config show again.toml").output == first);
}

TEST_CASE("kxm and Model Garden flags are overrides") {
  const Workplace location;
  const std::string wanted = location.run("config show c.toml trainer.train_steps=7 xp.a=1").output;
  CHECK(location.run("config show --cfg.trainer.train_steps=7 c.toml --xp.a=1").output == wanted);
  location.folder().write("more.toml", "xp.a = 1\n");
  CHECK(location.run("config show c.toml --config_file more.toml --set=trainer.train_steps=7")
            .output == wanted);
  CHECK_THAT(location.run("config show c.toml --set seed=2 seed=3").output,
             Contains("seed: the override has no effect: 'seed=3' replaces it"));
}

TEST_CASE("any TOML reader parses the shown config to the values of the JSON") {
  if (trivet::test::shell("python3 -c 'import tomllib'").exit_code != 0) {
    WARN("no python3 with tomllib: not compared");
    return;
  }
  const Workplace location;
  CHECK(location.run("config show c.toml > shown.toml").exit_code == 0);
  CHECK(location.run("config show c.toml --format json > shown.json").exit_code == 0);
  const ShellResult result = location.shell(
      "python3 -c 'import json, tomllib\n"
      "toml = tomllib.load(open(\"shown.toml\", \"rb\"))\n"
      "assert toml == json.load(open(\"shown.json\"))\n"
      "print(toml[\"trainer\"][\"train_steps\"], toml[\"xp\"][\"note\"])'");
  CHECK(result.output == "10 é \" \\ \n\n");
}

TEST_CASE("the schema of configs describes every registered type") {
  const Workplace location;
  const ShellResult result = location.run("schema");
  REQUIRE(result.exit_code == 0);
  const auto schema = nlohmann::json::parse(result.output);
  CHECK(schema["$schema"] == "http://json-schema.org/draft-07/schema#");
  CHECK(schema["type"] == "object");
  CHECK(schema["additionalProperties"] == false);
  CHECK(schema["then"]["required"] == nlohmann::json::array({"task"}));
  for (const char* key : {"name", "mode", "seed", "task", "trainer", "runtime", "base",
                          "experiment", "restrictions", "defaults", "sweep", "xp", "backend"}) {
    CHECK(schema["properties"].contains(key));
  }
  const auto& definitions = schema["definitions"];
  const auto& mlp = definitions["model:demo.Mlp"];
  CHECK(mlp["properties"]["type"]["const"] == "demo/Mlp");
  CHECK(mlp["properties"]["dropout"]["description"] == "Share of zeros.");
  CHECK(mlp["properties"]["dropout"]["default"] == 0.0);
  CHECK(mlp["properties"]["dropout"]["anyOf"][0]["minimum"] == 0.0);
  CHECK(mlp["properties"]["dropout"]["anyOf"][0]["exclusiveMaximum"] == 1.0);
  CHECK_FALSE(mlp.contains("required"));
  // Every reference resolves.
  const auto flat = schema.flatten();
  int references = 0;
  for (const auto& [path, value] : flat.items()) {
    if (!path.ends_with("/$ref")) continue;
    ++references;
    const std::string name = value.get<std::string>();
    CAPTURE(name);
    CHECK(schema.contains(nlohmann::json::json_pointer(name.substr(1))));
  }
  CHECK(references > 10);
}

TEST_CASE("the schema of one type requires its required keys") {
  const Workplace location;
  const auto schema = nlohmann::json::parse(location.run("schema demo/Noise").output);
  CHECK(schema["definitions"]["input:demo.Noise"]["required"] ==
        nlohmann::json::array({"type", "batch_size"}));
  const auto kind = nlohmann::json::parse(location.run("schema schedule").output);
  CHECK(kind["definitions"].contains("schedule:demo.Constant"));
}

TEST_CASE("completion knows commands, options, keys, paths and values") {
  const Workplace location;
  const auto complete = [&](const std::string& words) {
    return lines(location.run("__complete -- " + words).output);
  };
  using Lines = std::vector<std::string>;
  CHECK(complete("co") == Lines{"config", "completions"});
  CHECK(complete("config ''") == Lines{"show"});
  CHECK(complete("config show ''") == Lines{":files"});
  CHECK(complete("config show c.toml --or") == Lines{"--origin"});
  CHECK(complete("config show c.toml --format j") == Lines{"json"});
  CHECK(complete("config show c.toml trainer.train_st") == Lines{"trainer.train_steps="});
  CHECK(complete("config show c.toml task.mo") == Lines{"task.model=", "task.model."});
  CHECK(complete("config show c.toml task.model.h") ==
        Lines{"task.model.hidden_dims=", "task.model.has_bias="});
  CHECK(complete("config show c.toml --cfg.task.model.dr") == Lines{"--cfg.task.model.dropout="});
  CHECK(complete("config show c.toml --xp.n") == Lines{"--xp.nodes=", "--xp.name=", "--xp.note="});
  CHECK(complete("config show c.toml --set see") == Lines{"seed="});
  CHECK(complete("config show c.toml task.model.has_bias=") ==
        Lines{"task.model.has_bias=true", "task.model.has_bias=false"});
  CHECK(complete("config show c.toml task.model=d") == Lines{"task.model=demo/Mlp"});
  CHECK(complete("config show c.toml mode=tr") == modes_from("tr", "mode="));
  CHECK(complete("config show c.toml runtime.backend=") == Lines{"runtime.backend=demo/Backend"});
  CHECK(complete("config show missing.toml runtime.th") == Lines{"runtime.threads="});
  CHECK(complete("explain demo/M") == Lines{"demo/Mlp"});
  CHECK(complete("completions b") == Lines{"bash"});
  CHECK(complete("nonsense x").empty());
  CHECK(location.opened().empty());
}

TEST_CASE("completion and help list every mode") {
  const Workplace location;
  const ShellResult offered = location.run("__complete -- run c.toml --mode ''");
  const ShellResult help = location.run("run --help");
  std::string all;
  for (const std::string_view mode : trivet::enum_names<trivet::Mode>()) {
    all += std::string(mode) + "\n";
    CHECK_THAT(help.output, Contains("\n  " + std::string(mode) + " "));
  }
  CHECK(offered.output == all);
}

TEST_CASE("schemas load no plugin library, configs only those that they name") {
  const Workplace location;
  for (const char* words : {"schema", "schema layer"}) {
    CHECK(location.run(words).exit_code == 0);
    CHECK(location.opened().empty());
  }
  const PluginFolder others;
  others.copy("alpha");
  CHECK(location
            .run("config show c.toml trainer.learning_rate=demo/Constant --plugin-dir " +
                 quoted(others.path().string()))
            .exit_code == 0);
  CHECK(location.opened() == "demo\n");
}

TEST_CASE("the bash script completes after '='") {
  const Workplace location;
  const auto complete = [&](const std::string& line) {
    location.folder().write("script.sh", "trivet() { " + location.program() +
                                             " \"$@\"; }\neval \"$(trivet completions bash)\"\n"
                                             "compopt() { :; }\nCOMP_LINE=" +
                                             quoted(line) +
                                             "\nCOMP_POINT=${#COMP_LINE}\n_trivet\n"
                                             "printf '%s\\n' \"${COMPREPLY[@]}\"\n");
    return lines(location.shell("bash script.sh").output);
  };
  CHECK(complete("trivet expl") == std::vector<std::string>{"explain"});
  CHECK(complete("trivet config show c.toml mode=tr") == modes_from("tr"));
  CHECK(complete("trivet config show c.toml task.model.dr") ==
        std::vector<std::string>{"task.model.dropout="});
}

TEST_CASE("explain --config prints a field's meaning, its value and its line") {
  const Workplace location;
  const auto explained = [&](const std::string& words) {
    return location.run("explain --config c.toml " + words).output;
  };
  CHECK(explained("trainer.train_steps") == "trainer." +
                                                location.run("explain trainer.train_steps").output +
                                                "  value  10\n  from   c.toml:10:15\n");
  // A type that only the config names, a default, an override before and after.
  CHECK_THAT(explained("trainer.learning_rate.value"),
             StartsWith("trainer.learning_rate.value  (float") &&
                 Contains("  value  0.5\n  from   c.toml:11:17\n"));
  CHECK_THAT(explained("seed"), Contains("default: 0") && Contains("value  0\n  from   default\n"));
  CHECK_THAT(explained("seed seed=7"), Contains("  value  7\n  from   command line:1:6"));
  CHECK_THAT(explained("--set seed=8 seed"), Contains("  value  8\n"));
  // Tables, list elements, free values.
  CHECK_THAT(explained("task.train_input"),
             Contains("from   c.toml:5:1\n") && Contains("batch_size = 4  # c.toml:7:14\n"));
  CHECK_THAT(explained("task.model.hidden_dims[0]"),
             StartsWith("task.model.hidden_dims[0]  (integer)\n  value  "));
  CHECK_THAT(explained("xp.note"), StartsWith("xp.note  (string") && Contains("  value  \"é"));
}

TEST_CASE("explain describes built-in items") {
  const Workplace location;
  const ShellResult key = location.run("explain trivet/Trainer");
  CHECK(key.exit_code == 0);
  CHECK_THAT(key.output, StartsWith("trivet/Trainer (trainer)\n") &&
                             Contains("\n  train_steps  (") && Contains("Part of the program"));
  CHECK_THAT(location.run("explain trainer").output, Contains("trivet/Trainer"));
  CHECK_THAT(location.run("explain trainer.train_steps").output,
             StartsWith("train_steps  (integer"));
  CHECK_THAT(location.run("explain defaults").output, StartsWith("defaults  ("));
  CHECK_THAT(location.run("explain xp.jobs.train.target").output,
             StartsWith("target  (optional string"));
  CHECK(location.run("explain a..b").exit_code == 2);
  CHECK(location.run("explain ''").exit_code == 2);
}

TEST_CASE("explain --config reports errors in a path or a config") {
  const Workplace location;
  const auto fails = [&](const std::string& words, const std::string& text) {
    const ShellResult result = location.run("explain " + words);
    INFO(result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains(text));
  };
  fails("--config c.toml trainer.train_stps", "did you mean 'trainer.train_steps'?");
  fails("--config c.toml task.model.hidden_dims[99]", "'task.model.hidden_dims' has 1 element");
  fails("--config c.toml seed.deeper", "the config has no 'seed.deeper'");
  fails("--config c.toml demo/Mlp", "'demo/Mlp' is a key");
  fails("--config c.toml a..b", "a..b");
  fails("--config c.toml", "takes one key");
  fails("--config none.toml seed", "none.toml");
  fails("--config c.toml seed trainer.train_stps=3", "unknown key 'train_stps'");
  fails("--set seed=3 seed", "--config");
  fails("seed seed=3", "takes one key");
  fails("task.model.hidden_dims", "--config FILE");
}

TEST_CASE("a file or folder that is not there is a wrong command line") {
  const Workplace place;
  for (const char* words :
       {"ckpt info nothing", "ckpt ls nothing", "ckpt verify nothing", "ckpt diff nothing nothing",
        "ls nothing", "diff nothing nothing", "index rebuild --root nothing",
        "status 1 --root nothing", "generate nothing x", "summary nothing.toml",
        "check nothing.toml", "data show nothing.toml"}) {
    const ShellResult result = place.run(words);
    INFO(words << ": " << result.output);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.output, Contains("nothing"));
  }
}
