// SPDX-License-Identifier: Apache-2.0
// `trivet data show` and `trivet data prepare`.
#include <filesystem>

#include <catch2/catch.hpp>

#include "program/run/run_fixture.h"

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

// A config with a text input for training; the task does not matter here.
struct TextConfigFile {
  TextConfigFile() {
    dir.write("a.txt", "In the beginning");
    dir.write("b.txt", "was the\n\x1B[31mword");
    file = dir.write("text.toml", R"(
[task]
type = "vision/ImageClassification"
num_classes = 10
model = { type = "vision/Mlp", image_shape = [4, 4, 1], hidden_dims = [4] }
eval_input = { type = "data/Synthetic", image_shape = [4, 4, 1], num_classes = 10, examples = 8, batch_size = 4 }

[task.train_input]
type = "data/Text"
files = [")" + (dir / "*.txt").string() +
                                      R"("]
tokenizer = { type = "tokenizers/Bytes", bos = true, eos = true }
seq_len = 20
batch_size = 1

[trainer]
train_steps = 1
optimizer = "optim/Sgd"
learning_rate = 0.1
)");
  }
  std::string word() const { return quoted(file.string()); }
  TempDir dir;
  fs::path file;
};

ShellResult data(const std::string& words) {
  return trivet::test::trivet("data " + words);
}

}  // namespace

TEST_CASE("data show prints the fields of inputs that are read together", "[data]") {
  const TextConfigFile config;
  const std::string part =
      R"({ type = "data/Synthetic", image_shape = [4, 4, 1], num_classes = 10, examples = 8, )";
  config.dir.write("multi.toml", R"(
[task]
type = "vision/ImageClassification"
num_classes = 10
model = { type = "vision/Mlp", image_shape = [4, 4, 1], hidden_dims = [4] }
[task.train_input]
type = "data/Multi"
batch_size = 2
[task.train_input.inputs]
a = )" + part + R"(batch_size = 2 }
b = )" + part + R"(batch_size = 4 }
[trainer]
train_steps = 1
optimizer = "optim/Sgd"
learning_rate = 0.1
)");
  const std::string file = quoted((config.dir / "multi.toml").string());
  const ShellResult shown = data("show " + file + " -n 1");
  INFO(shown.output);
  CHECK(shown.exit_code == 0);
  CHECK_THAT(shown.output, Contains("a/image") && Contains("f32 [2, 4, 4, 1]"));
  CHECK_THAT(shown.output, Contains("b/image") && Contains("f32 [2, 2, 4, 4, 1]"));
  const ShellResult wrong = data("show " + file + " task.train_input.inputs.b.batch_size=3");
  INFO(wrong.output);
  CHECK(wrong.exit_code == 2);
  CHECK_THAT(wrong.output, Contains("no multiple of batch_size = 2"));
}

TEST_CASE("data show prints texts of inputs that have a tokenizer, numbers of others", "[data]") {
  const TextConfigFile config;
  const ShellResult all = data("show " + config.word() + " -n 2");
  INFO(all.output);
  CHECK(all.exit_code == 0);
  CHECK_THAT(all.output, Contains("task.train_input  data/Text  2 batches a pass\n"));
  CHECK_THAT(all.output, Contains("ids            i32 [1, 20]\n"));
  // The second document continues in the second row.
  CHECK_THAT(all.output, Contains("text           \"In the beginning<eos>\"\n"));
  CHECK_THAT(all.output, Contains("text           \" the\\n\\u001b[31mword<eos>\"\n"));
  CHECK_THAT(all.output,
             Contains("task.eval_input  data/Synthetic") && Contains("16 numbers from"));
  CHECK(all.output.find('\x1B') == std::string::npos);

  const ShellResult json = data("show " + config.word() + " --json --input task.train_input -n 99");
  INFO(json.output);
  const auto inputs = nlohmann::json::parse(json.output);
  REQUIRE(inputs.size() == 1);
  CHECK(inputs[0].at("type") == "data/Text");
  // Training data has no end; only the requested rows are printed.
  CHECK(inputs[0].at("rows").size() == 99);
  CHECK(inputs[0].at("rows")[0] == inputs[0].at("rows")[2]);
}

TEST_CASE("data show prints labels and tags next to their texts", "[data]") {
  const TextConfigFile config;
  const std::string lines = config.dir.write("lines.jsonl", R"({"a": "Good.", "is": "yes", "t": "A"}
{"a": "Bad.", "is": "no", "t": "B"}
)");
  const auto shown = [&](const std::string& input) {
    const std::string source = "source={type=\"data/Jsonl\", files=[\"" + lines + "\"]}, ";
    return data("show " + config.word() + " --input task.train_input " +
                quoted("task.train_input={" + input + source +
                       "tokenizer={type=\"tokenizers/Bytes\", bos=true, eos=true}, seq_len=12, "
                       "batch_size=2}"))
        .output;
  };
  CHECK_THAT(shown("type=\"data/SentencePairs\", text_a=\"{a}\", label=\"{is}\", "
                   "class_names=[\"no\", \"yes\"], "),
             Contains("Good.<eos>\"\n  label          1\nrow 2\n") &&
                 Contains("Bad.<eos>\"\n  label          0\n"));
  CHECK_THAT(shown("type=\"data/TaggedSequences\", words=\"{a}\", tags=\"{t}\", "
                   "class_names=[\"A\", \"B\"], "),
             Contains("  tags           -1 1 -1 -1 "));
}

TEST_CASE("data prepare writes token files that give the same rows, once", "[data]") {
  const TextConfigFile config;
  const TempDir to;
  const std::string folder = (to / "new/folder").string();
  const ShellResult made = data("prepare " + config.word() + " -o " + quoted(folder));
  INFO(made.output);
  CHECK(made.exit_code == 0);
  CHECK_THAT(made.output, Contains("1 file, 2 documents, 33 bytes, 33 tokens\n"));
  CHECK_THAT(made.output, Contains("input = {type = \"data/Tokens\""));
  CHECK_THAT(data("prepare " + config.word() + " -o " + quoted(folder)).output,
             Contains("(already exists)"));

  const std::string show = "show " + config.word() + " --json --input task.train_input ";
  const ShellResult shown =
      data(show + quoted("task.train_input={type=\"data/Tokens\", files=[\"" + folder +
                         "/tokens-*.bin\"], seq_len=20, batch_size=1, tokenizer={type="
                         "\"tokenizers/Bytes\", bos=true, eos=true}}"));
  INFO(shown.output);
  CHECK(nlohmann::json::parse(shown.output)[0].at("rows") ==
        nlohmann::json::parse(data(show).output)[0].at("rows"));
}

TEST_CASE("the data command reports wrong requests", "[data]") {
  const TextConfigFile config;
  const auto refused = [&](const std::string& words, int code, const std::string& why) {
    const ShellResult result = data(words);
    INFO(words << "\n" << result.output);
    CHECK(result.exit_code == code);
    CHECK_THAT(result.output, Contains(why));
  };
  refused("", 2, "takes show or prepare first");
  refused("shwo " + config.word(), 2, "did you mean 'show'?");
  refused("show " + config.word() + " --input task.train_inptu", 2, "'task.train_input'");
  refused("show " + config.word() + " -n 0", 2, "at least 1");
  refused("prepare " + config.word(), 2, "needs -o DIR");
  refused("prepare " + config.word() + " -o /tmp/x --input task.eval_input", 2,
          "data/Synthetic cannot be prepared");
  refused("show " + config.word() + " 'task.train_input.files=[\"/no/such/file\"]'", 2,
          "task.train_input.files: /no/such/file: no such file");
  refused("prepare -o /tmp/x " + config.word() + " mode=eval '~task.train_input'", 2,
          "has no task.train_input");
  for (const char* action : {"show ", "prepare -o /tmp/x "}) {
    refused(action + config.word() + " 'task.train_input.files=[\"/bin/true\"]'", 2,
            "task.train_input.files: /bin/true: ");
  }
}
