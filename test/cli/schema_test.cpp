// SPDX-License-Identifier: Apache-2.0
// The JSON Schema of config files, asked by a validator that is not ours: it takes what is shipped
// and refuses what is broken.
#include <catch2/catch.hpp>
#include <filesystem>
#include <sstream>

#include "run_fixture.h"
#include "support/paths.h"

using namespace trivet::test;
namespace fs = std::filesystem;

namespace {

const std::string kPython = "/usr/bin/python3";

// Prints, for each file behind the schema's, "valid" or "invalid" and why.
constexpr const char* kValidator =
    "import json, sys, tomllib, jsonschema\n"
    "schema = json.load(open(sys.argv[1]))\n"
    "jsonschema.Draft7Validator.check_schema(schema)\n"
    "validator = jsonschema.Draft7Validator(schema)\n"
    "for name in sys.argv[2:]:\n"
    "    errors = list(validator.iter_errors(tomllib.load(open(name, 'rb'))))\n"
    "    print('invalid ' + errors[0].message[:200].replace('\\n', ' ') if errors else 'valid')\n";

// Whether python3-jsonschema is there; says so when it is not.
bool has_validator() {
  const bool has = shell(kPython + " -c 'import jsonschema, tomllib'").exit_code == 0;
  if (!has) WARN("skipped: " << kPython << " has no jsonschema (Debian: python3-jsonschema)");
  return has;
}

// One answer for each of the files.
std::vector<std::string> answers(const TempDir& dir, const std::vector<fs::path>& files) {
  const fs::path schema = dir.write("schema.json", trivet::test::trivet("schema").output);
  const fs::path script = dir.write("validate.py", kValidator);
  std::string words = quoted(schema.string());
  for (const fs::path& file : files) words += " " + quoted(file.string());
  const ShellResult result = shell(kPython + " " + quoted(script.string()) + " " + words);
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
    {"shuffle = true", "remainder = \"cut\""},
    {"train_steps = 300", "train_steps = -1"},
    {"train_steps = 300", "train_stesp = 300"},
    {"learning_rate = 0.003", "learning_rate = [0.003]"},
    {"learning_rate = 0.003", "gradient_clip = 3"},
};

}  // namespace

TEST_CASE("the schema takes every shipped config and every resolved one") {
  if (!has_validator()) return;
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
  const auto found = answers(dir, files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    INFO(files[i].string());
    CHECK(found[i] == "valid");
  }
}

TEST_CASE("the schema refuses configs that are broken") {
  if (!has_validator()) return;
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
  const auto found = answers(dir, files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    INFO(kBroken[i].to);
    CHECK(found[i].substr(0, 8) == "invalid ");
    // Ours agrees.
    CHECK(trivet::test::trivet("config show " + quoted(files[i].string())).exit_code == 2);
  }
}
