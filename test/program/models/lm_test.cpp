// SPDX-License-Identifier: Apache-2.0
// Language models from the user's view: a training run on text, and `trivet generate` with the
// result.
#include <filesystem>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "program/models/alphabet.h"
#include "program/run/run_fixture.h"
#include "support/shell.h"

namespace lm_test {

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;
using Json = nlohmann::json;

TEST_CASE("a language model learns a text and continues it", "[slow]") {
  const Alphabet alphabet;
  INFO(alphabet.result().output);
  REQUIRE(alphabet.result().exit_code == 0);
  const Json eval = records(alphabet.workdir(), "eval").back();
  CHECK(eval.at("values").at("bits_per_byte").get<double>() < 0.2);
  // 26 letters, each determined by the previous one.
  CHECK_THAT(alphabet.result().output, Contains("unigram bits_per_byte=4.7"));
  CHECK_THAT(alphabet.result().output, Contains("trigram bits_per_byte=0."));
  CHECK(eval.at("values").at("fraction_of_correct_next_step_preds").get<double>() > 0.95);

  SECTION("a prompt as a word, the same text for the same seed") {
    const ShellResult once = alphabet.generate("abc -n 26 -t 0");
    CHECK(once.exit_code == 0);
    CHECK(once.output == "abcdefghijklmnopqrstuvwxyzabc\n");
    CHECK(alphabet.generate("q -n 20 --seed 3 -t 3 --top-k 0").output ==
          alphabet.generate("q -n 20 --seed 3 -t 3 --top-k 0").output);
    CHECK(alphabet.generate("q -n 20 --seed 3 -t 3 --top-k 0").output !=
          alphabet.generate("q -n 20 --seed 4 -t 3 --top-k 0").output);
    CHECK(alphabet.generate("def -n 28 --beams 3").output == "defghijklmnopqrstuvwxyzabcdefgh\n");
    const std::vector<Json> best =
        lines_of(alphabet.generate("def -n 5 --beams 3 --samples 2 --json").output);
    REQUIRE(best.size() == 2);
    CHECK(best[0].at("text") == "ghijk");
    CHECK(best[1].at("text") != "ghijk");
    CHECK(alphabet.generate("def -n 4 --beams 1 -t 9 --set task.decode.min_p=0.9").output ==
          "defghij\n");
    CHECK(alphabet.generate("ghidef -n 3 -t 0 --set task.decode.repetition_penalty=99").output !=
          "ghidefghi\n");
    CHECK(alphabet.generate("def -n 28 -t 0 --stop ijk").output == "defgh\n");
  }
  SECTION("standard input, a file, JSON") {
    alphabet.temp().write("prompts.txt", "abc\nuvw\n");
    const std::string file = quoted((alphabet.temp() / "prompts.txt").string());
    CHECK(alphabet.generate("-t 0 -n 3 -f " + file).output == "abcdef\n---\nuvwxyz\n");
    const std::vector<Json> lines =
        lines_of(alphabet.generate("-t 0 -n 3 --json -f " + file).output);
    REQUIRE(lines.size() == 2);
    CHECK(lines[1].at("prompt") == "uvw");
    CHECK(lines[1].at("text") == "xyz");
    CHECK(lines[1].at("tokens") == 3);
    CHECK(lines[1].at("prompt_tokens") == 3);
    CHECK(lines[1].at("end") == "max_tokens");
    CHECK(lines[1].at("log_probability").get<double>() > -1);
    CHECK(alphabet.generate("-t 0 -n 3 < " + file).output == "abc\nuvwxyz\n");
    shell("gzip -k " + file);
    CHECK(alphabet.generate("-t 0 -n 3 -f " + quoted((alphabet.temp() / "prompts.txt.gz").string()))
              .output == "abcdef\n---\nuvwxyz\n");
    const ShellResult missing = alphabet.generate("-f nowhere.txt");
    CHECK(missing.exit_code == 2);
    CHECK_THAT(missing.output, Contains("nowhere.txt: cannot open: No such file or directory"));
    const ShellResult folder = alphabet.generate("-f /tmp");
    CHECK(folder.exit_code == 2);
    CHECK_THAT(folder.output, Contains("/tmp: cannot read: Is a directory"));
  }
  SECTION("samples of a prompt differ, and so do equal prompts; each is there again alone") {
    alphabet.temp().write("equal.txt", "abc\nabc\n");
    const std::string file = quoted((alphabet.temp() / "equal.txt").string());
    const std::string wild = " -t 9 --top-k 0 -n 8 --json --seed 5 ";
    const std::vector<Json> four =
        lines_of(alphabet.generate("--samples 2" + wild + "-f " + file).output);
    REQUIRE(four.size() == 4);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(four[i].at("sample") == i % 2);
      for (std::size_t j = 0; j < i; ++j) CHECK(four[i].at("text") != four[j].at("text"));
    }
    const std::vector<Json> two = lines_of(alphabet.generate(wild + "-f " + file).output);
    REQUIRE(two.size() == 2);
    CHECK(two[0].at("text") == four[0].at("text"));
    CHECK(two[1].at("text") == four[2].at("text"));
    const Json second = lines_of(alphabet.generate("abc --samples 2" + wild).output).at(1);
    CHECK(second.at("text") == four[1].at("text"));
  }
  SECTION("the config sets the defaults of decoding, and a checkpoint belongs to a run") {
    const std::vector<Json> lines = lines_of(alphabet.generate("--json abc").output);
    CHECK(lines.at(0).at("tokens") == 10);
    const ShellResult at = trivet::test::trivet(
        "generate " + quoted(alphabet.checkpoint().string()) + " abc -n 2 -t 0");
    CHECK(at.output == "abcde\n");
  }
  SECTION("samples of the evaluation are in the run") {
    const std::vector<Json> samples = lines_of(read_file(alphabet.workdir() / "samples.jsonl"));
    REQUIRE(samples.size() == 1);
    CHECK(samples[0].at("step") == 60);
    CHECK(samples[0].at("prompt") == "xyz");
    CHECK(samples[0].at("tokens") == 10);
  }
  SECTION("wrong arguments exit with 2 and a message") {
    const auto check = [&](const std::string& words, const std::string& why) {
      const ShellResult bad = alphabet.generate(words);
      INFO(words << ": " << bad.output);
      CHECK(bad.exit_code == 2);
      CHECK_THAT(bad.output, Contains(why));
    };
    check("a b", "one prompt");
    check("-n x a", "--tokens takes a number");
    check("-n 0 a", "at least 1");
    check("-t -1 a", "temperature");
    check("--top-p 0 a", "top-p");
    check("-f /no/such/file", "/no/such/file");
    check("''", "the prompt is empty");
    alphabet.temp().write("gap.txt", "abc\n\nuvw\n");
    check("-f " + quoted((alphabet.temp() / "gap.txt").string()), "gap.txt is empty");
    check("-f " + quoted((alphabet.temp() / "gap.txt").string()), "line 2 of ");
    check("--beams 4 -t 0.5 a", "--beams 4 does not use --temperature 0.5");
    check("--beams 4 --top-k 3 a", "--beams 4 does not use --top-k 3");
    check("--beams 4 --top-p 0.1 a", "--beams 4 does not use --top-p 0.1");
    check("--beams 4 --samples 5 a", "--beams 4 does not use --samples 5");
    check("--beams 4 --seed 2 a", "--beams 4 does not use --seed 2");
    check("-t 0 --top-p 0.1 a", "--temperature 0 does not use --top-p 0.1");
    check("-t 0 --samples 2 a", "--temperature 0 does not use --samples 2");
    check("--set task.decode.epsilon_p=1 a", "task.decode.epsilon_p");
    check("--set task.decode.temperature=inf a", "task.decode.temperature: must be finite");
    check("--set task.decode.flat_beam=true --set task.decode.early_exit=true a",
          "task.decode.early_exit: is set, but decode.flat_beam does not use it");
    check("--samples 0 a", "--samples takes a number of at least 1");
    // Nothing is printed for a rejected text.
    CHECK_THAT(alphabet.generate("xyz --top-p 0").output, Catch::StartsWith("error: "));
    check("-f x y", "either a prompt or --file");
    const ShellResult none =
        trivet::test::trivet("generate " + quoted((alphabet.temp() / "text").string()) + " a");
    CHECK(none.exit_code == 2);
    CHECK_THAT(none.output, Contains("is not a run or a checkpoint"));
    CHECK(trivet::test::trivet("generate").exit_code == 2);
    CHECK(trivet::test::trivet("generate 77 a").exit_code == 2);
  }
  SECTION("a run without a checkpoint, and a task that has no texts") {
    fs::remove_all(alphabet.workdir() / "checkpoints");
    const ShellResult gone = alphabet.generate("a");
    CHECK(gone.exit_code != 0);
    CHECK_THAT(gone.output, Contains("checkpoint"));
    const fs::path images = alphabet.temp() / "images";
    REQUIRE(
        run(config("vision/local.toml"), images, std::string(kSmallRun) + "trainer.train_steps=20")
            .exit_code == 0);
    const ShellResult other = trivet::test::trivet("generate " + quoted(images.string()) + " a");
    CHECK(other.exit_code == 2);
    CHECK_THAT(other.output, Contains("does not continue texts"));
  }
}

TEST_CASE("the first config of the tutorial learns its evaluation data", "[slow]") {
  const TempDir temp;
  const ShellResult result = run(config("lm/local.toml"), temp / "run", "runtime.threads=1");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  // Random bytes have 8, and a model that memorized one file ended above 8.
  const auto bits_at = [&](std::size_t i) {
    return records(temp / "run", "eval").at(i).at("values").at("bits_per_byte").get<double>();
  };
  CHECK(bits_at(1) < 4.2);
  CHECK(bits_at(1) < bits_at(0));
}

// A prefix model sees its complete prompt, in evaluations and in a file of prompts of different
// lengths: it must answer the last letter with the first.
TEST_CASE("a prefix language model generates as it was trained", "[slow]") {
  const TempDir temp;
  std::string lines, prompts;
  std::vector<std::string> wanted;
  for (int i = 0; i < 400; ++i) {
    std::string word;
    for (int j = 0; j < 2 + i % 4; ++j) {
      word += static_cast<char>('a' + (i * 7 + j * j * 5 + i / 9) % 6);
    }
    lines += "{\"q\": \"" + word + "\", \"a\": \"" + std::string(1, word.front()) + "\"}\n";
    if (i >= 12) continue;
    prompts += word + "\n";
    wanted.emplace_back(1, word.front());
  }
  temp.write("pairs.jsonl", lines);
  temp.write("prompts.txt", prompts);
  temp.write("prefix.toml", with_folder(R"(
seed = 1
[task]
type = "lm/LanguageModeling"
tokenizer = { type = "tokenizers/Bytes", bos = true, eos = true }
[task.model]
type = "lm/LanguageModel"
model_type = "prefix"
model_dims = 32
num_layers = 1
num_heads = 2
max_seq_len = 16
position_emb_tpl = "nn/TrainablePositionalEmbedding"
[task.train_input]
type = "data/LanguageModel"
source = { type = "data/Jsonl", files = ["@/pairs.jsonl"] }
inputs = "{q}"
inputs_eos = true
targets = "{a}"
weights_on_targets_only = true
pack = false
seq_len = 12
batch_size = 32
shuffle = true
[trainer]
train_steps = 300
steps_per_loop = 100
learning_rate = 0.01
optimizer = "optim/Adam"
)",
                                        temp.path()));
  const ShellResult trained =
      run(temp / "prefix.toml", temp / "run", "mode=train runtime.threads=1");
  INFO(trained.output);
  REQUIRE(trained.exit_code == 0);
  const std::vector<Json> answers = lines_of(
      trivet::test::trivet("generate " + quoted((temp / "run").string()) + " -t 0 -n 2 --json -f " +
                           quoted((temp / "prompts.txt").string()))
          .output);
  REQUIRE(answers.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(answers[i].at("text") == wanted[i]);
}

TEST_CASE("a run keeps its tokenizer and rejects others", "[slow]") {
  const TempDir temp;
  temp.write("text/alphabet.txt", alphabet_text());
  const auto train = [&](const std::string& vocabulary) {
    return trivet::test::trivet("tokenizer train --vocab-size " + vocabulary + " -o " +
                                quoted((temp / "tokenizer.json").string()) + " " +
                                quoted((temp / "text/alphabet.txt").string()));
  };
  REQUIRE(train("260").exit_code == 0);
  temp.write("lm.toml", with_folder(R"(
seed = 1
mode = "train"
[task]
type = "lm/LanguageModeling"
tokenizer = { type = "tokenizers/Bpe", file = "@/tokenizer.json" }
model = { type = "lm/LanguageModel", vocab_size = 300, model_dims = 16, num_layers = 1, num_heads = 2 }
train_input = { type = "data/Text", files = ["@/text/*.txt"], seq_len = 16, batch_size = 4 }
[trainer]
train_steps = 2
learning_rate = 0.01
optimizer = "optim/Adam"
)",
                                    temp.path()));
  const auto go_on = [&](const std::string& steps) {
    return run(temp / "lm.toml", temp / "run", "runtime.threads=1 trainer.train_steps=" + steps);
  };
  const auto generate = [&] {
    return trivet::test::trivet("generate " + quoted((temp / "run").string()) +
                                " abc -n 8 -t 5 --top-k 0");
  };
  const ShellResult small = trivet::test::trivet("check " + quoted((temp / "lm.toml").string()) +
                                                 " task.model.vocab_size=259");
  CHECK(small.exit_code == 2);
  CHECK_THAT(small.output, Contains("task.model.vocab_size: is 259, but the tokenizer has 260"));
  REQUIRE(go_on("2").exit_code == 0);
  // 40 of the logits have no token: none of them is sampled.
  const ShellResult first = generate();
  INFO(first.output);
  REQUIRE(first.exit_code == 0);
  const Json stored = json_of(temp / "run" / "tokenizer" / "stored.json");
  const std::string own = stored.at("fingerprint");

  SECTION("of other files of the same names it says which they are") {
    REQUIRE(train("261").exit_code == 0);
    for (const ShellResult& bad : {generate(), go_on("4")}) {
      INFO(bad.output);
      CHECK(bad.exit_code == 2);
      CHECK_THAT(bad.output, Contains("task.tokenizer: is not that of the run") && Contains(own) &&
                                 Contains("start a new run"));
    }
    REQUIRE(train("260").exit_code == 0);
    CHECK(go_on("4").exit_code == 0);
  }
  SECTION("its embedding is no start for other tokens") {
    REQUIRE(train("261").exit_code == 0);
    const auto check = [&](const std::string& more) {
      return trivet::test::trivet("check " + quoted((temp / "lm.toml").string()) +
                                  " task.init_checkpoint=" + quoted((temp / "run").string()) +
                                  more);
    };
    const ShellResult bad = check("");
    INFO(bad.output);
    CHECK(bad.exit_code == 2);
    CHECK_THAT(bad.output, Contains("task.tokenizer: is not that of the run") && Contains(own) &&
                               Contains("loads 'softmax/") &&
                               Contains("task.init_load.ignore = ['softmax/.*']"));
    CHECK(check(" \"task.init_load.ignore=['softmax/.*']\"").exit_code == 0);
    REQUIRE(train("260").exit_code == 0);
    CHECK(check("").exit_code == 0);
  }
  SECTION("without the files it has its own") {
    fs::remove(temp / "tokenizer.json");
    CHECK(generate().output == first.output);
    CHECK(go_on("4").exit_code == 0);
    CHECK(go_on("6 mesh.ici_mesh_shape=[2,1,1] --processes 2").exit_code == 0);
    SECTION("unless that is damaged") {
      temp.write("run/tokenizer/stored.json", "{}");
      CHECK_THAT(generate().output, Contains("stored.json is damaged"));
      temp.write("run/tokenizer/stored.json", stored.dump());
      temp.write("run/tokenizer/tokenizer.json", "{}");
      CHECK(generate().exit_code == 1);
    }
  }
}

TEST_CASE("labels that do not match the ids teach a language model nothing") {
  // If each byte is independent, only the frequencies can be learned: two bits for four letters.
  const TempDir temp;
  std::string noise;
  unsigned state = 1;
  for (int i = 0; i < 20000; ++i) {
    state = state * 1103515245U + 12345U;
    noise += "acgt"[state >> 16 & 3U];
  }
  temp.write("text/noise.txt", noise);
  temp.write("lm.toml", with_folder(R"(
seed = 1
[task]
type = "lm/LanguageModeling"
tokenizer = "tokenizers/Bytes"
model = { type = "lm/LanguageModel", model_dims = 16, num_layers = 1, num_heads = 2 }
train_input = { type = "data/Text", files = ["@/*.txt"], part_end = 0.5, seq_len = 32, batch_size = 16 }
eval_input = { type = "data/Text", files = ["@/*.txt"], part_begin = 0.5, seq_len = 32, batch_size = 16 }
[trainer]
train_steps = 100
learning_rate = 0.01
optimizer = "optim/Adam"
)",
                                    temp / "text"));
  const ShellResult result = run(temp / "lm.toml", temp / "run", "runtime.threads=1");
  INFO(result.output);
  REQUIRE(result.exit_code == 0);
  const double bits =
      records(temp / "run", "eval").back().at("values").at("bits_per_byte").get<double>();
  CHECK(bits > 1.98);
  CHECK(bits < 2.2);
}

}  // namespace lm_test
