// SPDX-License-Identifier: Apache-2.0
// trivet tokenizer through the program.
#include <catch2/catch.hpp>

#include "program/launch/page_steps.h"
#include "program/run/run_fixture.h"
#include "support/paths.h"
#include "support/plugin_folder.h"

using namespace trivet::test;
using Catch::Contains;
using Catch::StartsWith;

namespace {

const char* const kCorpus =
    "It is the end of the day, and the end of the night is the day.\n"
    "The end is the end: the night and the day and the night.\n";

ShellResult tokenizer(const std::string& words, const std::string& input = {}) {
  if (input.empty()) return trivet::test::trivet("tokenizer " + words + " </dev/null");
  const TempDir dir;
  return trivet::test::trivet("tokenizer " + words + " < " +
                              quoted(dir.write("input", input).string()));
}

// The file of a vocabulary of 270 tokens, the first of which is <e>.
std::string trained(const TempDir& dir, const std::string& more = "--special '<e>'") {
  const std::string file = (dir / "tokenizer.json").string();
  const std::string corpus = dir.write("corpus.txt", kCorpus).string();
  const ShellResult result = tokenizer("train --vocab-size 270 --output " + quoted(file) + " " +
                                       more + " " + quoted(corpus));
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  return file;
}

}  // namespace

TEST_CASE("a tokenizer is trained, described and decodes to the text") {
  const TempDir dir;
  const std::string file = quoted(trained(dir));
  const std::string text = "the night <e> \xff\xc3\xbc of kings\n\n";
  const ShellResult ids = tokenizer("encode " + file, text);
  CHECK(ids.exit_code == 0);
  CHECK_THAT(ids.output, Contains(" 0 "));
  const ShellResult back = tokenizer("decode " + file, ids.output);
  CHECK(back.output == text);
  CHECK(back.exit_code == 0);

  const std::string corpus = quoted((dir / "corpus.txt").string());
  const std::string info = tokenizer("info " + file + " " + corpus).output;
  CHECK_THAT(info, StartsWith("tokens         270\n") && Contains("\n  0 \"<e>\"\n") &&
                       Contains("120 bytes, ") &&
                       Contains(" bytes per token, decodes to the same text"));
  CHECK(tokenizer("info " + quoted(dir.path().string()) + " " + corpus).output == info);
  CHECK_THAT(tokenizer("info " + file + " /dev/null").output,
             Contains("0 bytes, 0 tokens, no token"));
}

TEST_CASE("the same corpus gives the same file, and several files are one corpus") {
  const TempDir dir, other;
  const std::string first = read_file(trained(dir));
  CHECK(read_file(trained(other)) == first);
  const std::string text = kCorpus;
  const auto half = static_cast<std::ptrdiff_t>(text.find('\n')) + 1;
  const std::string a = dir.write("a", std::string(text.begin(), text.begin() + half)).string();
  const std::string b = dir.write("b", std::string(text.begin() + half, text.end())).string();
  const std::string out = (dir / "two.json").string();
  CHECK(tokenizer("train --type bpe --vocab-size=270 -o " + quoted(out) + " --special '<e>' " +
                  quoted(b) + " " + quoted(a))
            .exit_code == 0);
  CHECK(read_file(out) == first);
}

TEST_CASE("tokens can be seen one by one, and texts given as words") {
  CHECK(tokenizer("encode tokenizers/Bytes ab c").output == "97 98\n99\n");
  CHECK(tokenizer("encode tokenizers/Bytes -- -x").output == "45 120\n");
  CHECK(tokenizer("encode --tokens tokenizers/Bytes 'a\"'").output ==
        "     97  \"a\"\n     34  \"\\\"\"\n");
  CHECK(tokenizer("decode tokenizers/Bytes 97,98 99").output == "abc\n");
  CHECK(tokenizer("decode tokenizers/Bytes", "97 98\n99,10\n").output == "abc\n");
  CHECK(tokenizer("encode tokenizers/Bytes").output == "\n");
  CHECK(tokenizer("decode tokenizers/Bytes").output.empty());
  const std::string table =
      "'{\"type\": \"tokenizers/Characters\", \"alphabet\": \"abc\", "
      "\"eos\": true}'";
  CHECK(tokenizer("encode " + table + " cab").output == "2 0 1\n");
  CHECK_THAT(tokenizer("info " + table).output, Contains("259 \"<eos>\" ends a text"));
}

TEST_CASE("an alphabet is written as the text of its characters") {
  const TempDir dir;
  const std::string file = (dir / "alphabet.txt").string();
  const std::string corpus =
      quoted(dir.write("corpus.txt", "hello hello hello\xff \u00e9").string());
  CHECK(tokenizer("train --type characters --output " + quoted(file) + " " + corpus).exit_code ==
        0);
  CHECK(read_file(file) == " ehlo\u00e9");
  CHECK(tokenizer("encode '{\"type\": \"tokenizers/Characters\", \"files\": [\"" + file +
                  "\"]}' hello")
            .output == "2 1 3 3 4\n");
  CHECK_THAT(tokenizer("train --type characters --vocab-size 9 -o x " + corpus).output,
             Contains("--vocab-size needs --type bpe"));
}

TEST_CASE("the tokenizer of a config is found by its location, or by being the only one") {
  const PluginFolder folder;
  folder.copy("speaker");
  const TempDir dir;
  const std::string base =
      "base = [\"" + config("vision/local.toml").string() +
      "\"]\n[trainer.learning_rate]\n"
      "type = 'speaker/Spoken'\ntokenizer = {type = 'tokenizers/Characters', alphabet = 'ab'}\n";
  const std::string one = dir.write("one.toml", base).string();
  const std::string two = dir.write("two.toml", base + "other = 'tokenizers/Bytes'\n").string();
  const std::string none = config("vision/local.toml").string();
  const auto encode = [&](const std::string& name) {
    return tokenizer("encode --plugin-dir " + quoted(folder.path().string()) + " " + quoted(name) +
                     " ba");
  };
  CHECK(encode(one).output == "1 0\n");
  CHECK_THAT(encode(two).output,
             Contains("several tokenizers") && Contains("two.toml:trainer.learning_rate.other"));
  CHECK(encode(two + ":trainer.learning_rate.other").output == "98 97\n");
  CHECK(encode(two + ":trainer.learning_rate.tokenizer").output == "1 0\n");
  CHECK_THAT(encode(two + ":trainer.nothing").output, Contains("has no 'trainer.nothing'"));
  CHECK_THAT(encode(none).output, Contains("has no tokenizer"));
  CHECK(encode(none + ":trainer").exit_code == 2);
}

TEST_CASE("wrong arguments for tokenizers are rejected with a hint") {
  const TempDir dir;
  const std::string corpus = quoted(dir.write("corpus.txt", kCorpus).string());
  const std::string empty = quoted(dir.write("empty.txt", "").string());
  const std::string cut = quoted(dir.write("cut.json", "{\"model\": {").string());
  const std::string out = " --output " + quoted((dir / "out.json").string()) + " ";
  struct Row {
    std::string words;
    const char* output;
    int exit_code;
  };
  const Row rows[] = {
      {"", "needs to know what to do", 2},
      {"encod tokenizers/Bytes", "did you mean 'encode'", 2},
      {"encode", "a tokenizer is missing", 2},
      {"encode nothing x", "there is no tokenizer 'nothing'", 2},
      {"encode missing.json x", "there is no tokenizer 'missing.json'", 2},
      {"encode tokenizers/Nothing x", "tokenizers/Bytes", 2},
      {"encode tokenizers/Bpe x", "must be set", 2},
      {"encode " + quoted(dir.path().string()) + " x", "has neither tokenizer.json", 2},
      {"encode '{\"file\": 1}' x", "has no \"type\"", 2},
      {"encode " + cut + " x", "is not JSON", 2},
      {"decode tokenizers/Bytes 97 x", "'x' is not a token id", 2},
      {"decode tokenizers/Bytes 256", "0 to 255", 2},
      {"decode tokenizers/Bytes -- -1", "out of range", 2},
      {"decode tokenizers/Bytes 99999999999", "not a token id", 2},
      {"info tokenizers/Bytes " + (dir / "missing").string(), "cannot open", 2},
      {"train" + out, "no text file", 2},
      {"train --vocab-size 300 " + corpus, "--output FILE is missing", 2},
      {"train" + out + corpus, "--vocab-size is missing", 2},
      {"train --vocab-size many" + out + corpus, "not 'many'", 2},
      {"train --vocab-size 200" + out + corpus, "a vocabulary of 200 tokens", 2},
      {"train --vocab-size 300 --type wordpiece" + out + corpus, "known: bpe, characters", 2},
      {"train --vocab-size 300" + out + empty, "files are empty", 2},
      {"train --vocab-size 300" + out + (dir / "missing").string(), "cannot open", 2},
      {"train --vocab-size 300 -o /nonexistent/x.json " + corpus, "cannot write", 1},
  };
  for (const Row& row : rows) {
    CAPTURE(row.words);
    const ShellResult result = tokenizer(row.words);
    CHECK_THAT(result.output, StartsWith("error: ") && Contains(row.output));
    CHECK(result.exit_code == row.exit_code);
  }
  CHECK_FALSE(std::filesystem::exists(dir / "out.json"));
  const ShellResult few = tokenizer("train --vocab-size 3000" + out + corpus);
  CHECK(few.exit_code == 0);
  CHECK_THAT(few.output, Contains("fewer than 3000"));
}

TEST_CASE("a wrong tokenizer file is located once, wherever the config names it") {
  const TempDir dir;
  const std::string file = dir.write("cut.json", "{").string();
  const ShellResult check =
      trivet::test::trivet("check " + quoted(config("lm/local.toml").string()) + " " +
                           quoted("task.tokenizer={type='tokenizers/Bpe',file='" + file + "'}"));
  INFO(check.output);
  CHECK(check.exit_code == 2);
  CHECK_THAT(check.output, Contains("error: command line:1:16: task.tokenizer: " + file));
}

TEST_CASE("the commands of the page on tokenizers work as written") {
  const TempDir dir;
  const std::string start =
      "cd " + quoted(dir.path().string()) +
      " && export HOME=/nonexistent PATH=" + quoted(program().parent_path().string()) +
      ":$PATH TRIVET_PLUGIN_PATH=" + quoted(plugin_dir().string()) + "; ";
  const auto steps = steps_of(source_root() / "docs/tokenizers.md");
  REQUIRE(steps.size() == 6);
  for (const PageStep& step : steps) {
    const ShellResult result = shell(start + step.text);
    INFO("$ " << step.text << "\n" << result.output);
    CHECK(result.exit_code == 0);
  }
}
