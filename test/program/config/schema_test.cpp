// SPDX-License-Identifier: Apache-2.0
// The JSON Schema of config files with a third-party validator: it accepts shipped configs and
// rejects broken ones.
#include <filesystem>
#include <sstream>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"
#include "support/paths.h"

using namespace trivet::test;
namespace fs = std::filesystem;

namespace {

// Each is called with the schema and JSON files, and prints for each file "valid", or "invalid" and
// the reason.
struct Validator {
  const char* name;
  const char* probe;    // succeeds if it can be called
  const char* missing;  // the package to install
  const char* command;
  const char* script;
};
const Validator kValidators[] = {
    {"jsonschema", "/usr/bin/python3 -c 'import jsonschema'", "Debian: python3-jsonschema",
     "/usr/bin/python3",
     "import json, sys, jsonschema\n"
     "schema = json.load(open(sys.argv[1]))\n"
     "jsonschema.Draft7Validator.check_schema(schema)\n"
     "validator = jsonschema.Draft7Validator(schema)\n"
     "for name in sys.argv[2:]:\n"
     "    errors = list(validator.iter_errors(json.load(open(name))))\n"
     "    print('invalid ' + errors[0].message[:200].replace('\\n', ' ') if errors else "
     "'valid')\n"},
    {"ajv", "node -e \"require('ajv')\"", "npm: ajv, with NODE_PATH set", "node",
     "const Ajv = require('ajv').default;\n"
     "const read = name => JSON.parse(require('fs').readFileSync(name, 'utf8'));\n"
     "const ajv = new Ajv({strict: false});\n"
     "const validate = ajv.compile(read(process.argv[2]));\n"
     "for (const name of process.argv.slice(3))\n"
     "  console.log(validate(read(name)) ? 'valid' : 'invalid ' + "
     "ajv.errorsText(validate.errors));\n"},
};

// Converts TOML to JSON with a third-party reader.
constexpr const char* kToJson =
    "import json, sys, tomllib\n"
    "for name in sys.argv[1:]:\n"
    "    json.dump(tomllib.load(open(name, 'rb')), open(name + '.json', 'w'))\n";

// The validators on this machine. Reports missing ones.
std::vector<const Validator*> validators() {
  std::vector<const Validator*> there;
  for (const Validator& validator : kValidators) {
    if (shell(validator.probe).exit_code == 0) {
      there.push_back(&validator);
    } else {
      WARN("skipped: there is no " << validator.name << " (" << validator.missing << ")");
    }
  }
  return there;
}

// The answer of a validator for each file. The files are copied to `dir` as JSON.
std::vector<std::string> answers(const Validator& validator, const TempDir& dir,
                                 const std::vector<fs::path>& files) {
  const fs::path schema = dir.write("schema.json", trivet::test::trivet("schema").output);
  const fs::path to_json = dir.write("to_json.py", kToJson);
  const fs::path script = dir.write("validate", validator.script);
  std::string copies, words = quoted(schema.string());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const fs::path copy = dir.write("copy" + std::to_string(i), read_file(files[i]));
    copies += " " + quoted(copy.string());
    words += " " + quoted(copy.string() + ".json");
  }
  REQUIRE(shell("/usr/bin/python3 " + quoted(to_json.string()) + copies).exit_code == 0);
  const ShellResult result =
      shell(std::string(validator.command) + " " + quoted(script.string()) + " " + words);
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  std::vector<std::string> lines;
  std::istringstream in(result.output);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  REQUIRE(lines.size() == files.size());
  return lines;
}

// A change to configs/vision/local.toml that makes it wrong.
struct Broken {
  const char *from, *to;
};
const Broken kBroken[] = {
    {"seed = 1\n", "sed = 1\n"},
    {"seed = 1\n", "seed = 1.5\n"},
    {"seed = 1\n", "seed = \"one\"\n"},
    {"seed = 1\n", "mode = \"trian\"\n"},
    {"seed = 1\n", "mode = 3\n"},
    {"seed = 1\n", "name = 7\n"},
    {"seed = 1\n", "base = \"one.toml\"\n"},
    {"seed = 1\n", "experiment = [1]\n"},
    {"seed = 1\n", "runtime.threads = -1\n"},
    {"seed = 1\n", "runtime.threads = 5000\n"},
    {"seed = 1\n", "runtime.dtype = \"f99\"\n"},
    {"seed = 1\n", "runtime.nothing = 1\n"},
    {"[task]\n", "[tsak]\n"},
    {"type = \"vision/ImageClassification\"", "type = \"vision/Nothing\""},
    {"type = \"vision/ImageClassification\"", "type = 1"},
    {"type = \"vision/ImageClassification\"", "top_k = 0\ntype = \"vision/ImageClassification\""},
    {"type = \"vision/ImageClassification\"", "tpo_k = 5\ntype = \"vision/ImageClassification\""},
    {"type = \"vision/Mlp\"", "type = \"optim/Adam\""},
    {"hidden_dims = [64]", "hidden_dims = 64"},
    {"hidden_dims = [64]", "hidden_dims = [0]"},
    {"hidden_dims = [64]", "hidden_dims = [\"64\"]"},
    {"hidden_dims = [64]", "dropout = 1.0"},
    {"hidden_dims = [64]", "dropout = -0.1"},
    {"hidden_dims = [64]", "activation = \"nn/Nothing\""},
    {"hidden_dims = [64]", "activation = {type = \"nn/Linear\", input_dims = \"a\"}"},
    {"hidden_dims = [64]", "init.method = \"magic\""},
    {"batch_size = 64", "batch_size = 0"},
    {"batch_size = 64", "batch_size = \"many\""},
    {"shuffle = true", "shuffle = 1"},
    {"shuffle = true", "drop_remainder = \"cut\""},
    {"train_steps = 300", "train_steps = -1"},
    {"train_steps = 300", "train_stesp = 300"},
    {"learning_rate = 0.003", "learning_rate = [0.003]"},
    {"learning_rate = 0.003", "gradient_clip = 3"},
};

}  // namespace

TEST_CASE("the schema accepts every shipped config and every resolved one", "[slow]") {
  const TempDir dir;
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(config(""))) {
    if (entry.path().extension() != ".toml") continue;
    files.push_back(entry.path());
    const std::string name = "resolved" + std::to_string(files.size()) + ".toml";
    const ShellResult shown = trivet::test::trivet("config show " + quoted(entry.path().string()));
    REQUIRE(shown.exit_code == 0);
    files.push_back(dir.write(name, shown.output));
  }
  files.push_back(dir.write("named.toml", "experiment = \"vision/mnist_local\"\nseed = 2\n"));
  CHECK(files.size() >= 9);
  for (const Validator* validator : validators()) {
    const auto found = answers(*validator, dir, files);
    for (std::size_t i = 0; i < files.size(); ++i) {
      INFO(validator->name << ": " << files[i].string());
      CHECK(found[i] == "valid");
    }
  }
}

TEST_CASE("the schema rejects broken configs", "[slow]") {
  const TempDir dir;
  const std::string good = read_file(config("vision/local.toml"));
  std::vector<fs::path> files;
  for (const Broken& broken : kBroken) {
    std::string text = good;
    const std::size_t at = text.find(broken.from);
    REQUIRE(at != std::string::npos);
    text.replace(at, std::string(broken.from).size(), broken.to);
    files.push_back(dir.write("broken" + std::to_string(files.size()) + ".toml", text));
  }
  CHECK(files.size() >= 30);
  for (const Validator* validator : validators()) {
    const auto found = answers(*validator, dir, files);
    for (std::size_t i = 0; i < files.size(); ++i) {
      INFO(validator->name << ": " << kBroken[i].to);
      CHECK(found[i].substr(0, 8) == "invalid ");
    }
  }
  // Ours agrees.
  for (std::size_t i = 0; i < files.size(); ++i) {
    INFO(kBroken[i].to);
    CHECK(trivet::test::trivet("config show " + quoted(files[i].string())).exit_code == 2);
  }
}

TEST_CASE("the schema covers the fields of an experiment to launch", "[slow]") {
  const TempDir dir;
  const std::string good =
      "[xp]\nname = \"widths\"\nroot_dir = \"/tmp/xps\"\n"
      "orchestrator = {type = \"local/Orchestrator\"}\n"
      "sweep_info = {type = \"sweeps/SimpleSweep\", items = [{steps = 1}, {steps = 2}]}\n"
      "[xp.jobs.train]\ntarget = \"true\"\nargs = {steps = 3}\n";
  const char* const changes[][2] = {
      {"name = ", "nmae = "},
      {"\"local/Orchestrator\"", "\"local/Nothing\""},
      {"\"sweeps/SimpleSweep\"", "\"optim/Adam\""},
      {"target = \"true\"", "target = 3"},
      {"args = ", "agrs = "},
  };
  std::vector<fs::path> files{dir.write("good.toml", good)};
  for (const auto& [from, to] : changes) {
    std::string text = good;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, std::string(from).size(), to);
    files.push_back(dir.write("broken" + std::to_string(files.size()) + ".toml", text));
  }
  for (const Validator* validator : validators()) {
    const auto found = answers(*validator, dir, files);
    for (std::size_t i = 0; i < files.size(); ++i) {
      INFO(validator->name << ": " << files[i].string());
      CHECK(found[i].substr(0, 8) == (i == 0 ? "valid" : "invalid "));
    }
  }
  // Ours agrees.
  for (std::size_t i = 0; i < files.size(); ++i) {
    const ShellResult launched =
        trivet::test::trivet("launch --dry-run --xp=" + quoted(files[i].string()));
    INFO(launched.output);
    CHECK(launched.exit_code == (i == 0 ? 0 : 2));
  }
}
