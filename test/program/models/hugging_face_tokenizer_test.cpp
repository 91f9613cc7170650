// SPDX-License-Identifier: Apache-2.0
// Tokenizers of a tokenizer.json in the program: commands, runs that keep them, imported models.
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include "hf_models.h"
#include "program/run/run_fixture.h"
#include "support/shell.h"

namespace hugging_face_tokenizer_test {

using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

Json word_pieces() {
  return Json::parse(R"({"version": "1.0", "truncation": {"max_length": 512}, "padding": null,
      "added_tokens": [{"id": 0, "content": "[UNK]", "special": true},
                       {"id": 1, "content": "[CLS]", "special": true},
                       {"id": 2, "content": "[SEP]", "special": true}],
      "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                     "strip_accents": null, "lowercase": true},
      "pre_tokenizer": {"type": "BertPreTokenizer"},
      "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
      "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
      "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100,
                "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "want": 3, "un": 4, "##want": 5,
                          "##ed": 6, "!": 7}}})");
}

// Trains tokens on the text and splits words as in Llama 3.
std::string llama3_file(const fs::path& folder, const fs::path& text, int tokens) {
  const std::string file = (folder / "tokenizer.json").string();
  const ShellResult trained = trivet::test::trivet("tokenizer train --special '<s>' --vocab-size " +
                                                   std::to_string(tokens) + " -o " + quoted(file) +
                                                   " " + quoted(text.string()));
  INFO(trained.output);
  REQUIRE(trained.exit_code == 0);
  Json json = Json::parse(read_file(file));
  json["pre_tokenizer"] = Json::parse(R"({"type": "Sequence", "pretokenizers": [
      {"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex":
       "(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|\\s+(?!\\S)|\\s+"}},
      {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
       "use_regex": false}]})");
  json["post_processor"] = Json::parse(R"({"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                 {"Sequence": {"id": "A", "type_id": 0}},
                 {"SpecialToken": {"id": "<s>", "type_id": 0}}],
      "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}})");
  std::ofstream(file) << json.dump();
  return file;
}

std::string words() {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "It's a day, and 123 nights. ";
  return text;
}

}  // namespace

TEST_CASE("trivet tokenizer applies and describes WordPiece") {
  const TempDir dir;
  dir.write("bert/tokenizer.json", word_pieces().dump());
  const std::string folder = quoted((dir / "bert").string());
  const auto tokenizer = [&](const std::string& action, const std::string& rest) {
    return trivet::test::trivet("tokenizer " + action + " " + folder + " " + rest + " </dev/null");
  };
  CHECK(tokenizer("encode", "'Unwanted! [SEP] x'").output == "4 5 6 7 2 0\n");
  CHECK(tokenizer("decode", "4 5 6 7").output == "unwanted!\n");
  const std::string info = tokenizer("info", "").output;
  CHECK_THAT(info, Contains("tokens         8\n") && Contains("0 \"[UNK]\" is unknown") &&
                       Contains("not applied    post_processor: [CLS] A [SEP]\n") &&
                       Contains("not applied    truncation: {\"max_length\":512}\n") &&
                       !Contains("chat_template"));
  dir.write("bert/tokenizer_config.json", R"({"chat_template": "{{ messages }}"})");
  CHECK_THAT(tokenizer("info", "").output,
             Contains("not applied    chat_template of ") && Contains("tokenizer_config.json\n"));
  dir.write("bert/chat_template.jinja", "{{ messages }}");
  CHECK_THAT(tokenizer("info", "").output, Contains("bert/chat_template.jinja\n"));
  Json file = word_pieces();
  file["decoder"]["type"] = "CTC";
  dir.write("bert/tokenizer.json", file.dump());
  const ShellResult bad = tokenizer("encode", "x");
  CHECK(bad.exit_code == 2);
  CHECK_THAT(bad.output, Contains("decoder has the decoder \"CTC\""));
}

TEST_CASE("a run keeps a tokenizer.json of another form than GPT-2's") {
  const TempDir temp;
  const fs::path text = temp.write("text/words.txt", words());
  llama3_file(temp.path(), text, 265);
  const std::string at = temp.path().string();
  temp.write("lm.toml",
             "seed = 1\nmode = \"train\"\n[task]\ntype = \"lm/LanguageModeling\"\n"
             "tokenizer = { type = \"tokenizers/HuggingFace\", file = \"" +
                 at +
                 "/tokenizer.json\" }\n"
                 "model = { type = \"lm/LanguageModel\", vocab_size = 280, model_dims = 16, "
                 "num_layers = 1, num_heads = 2 }\n"
                 "train_input = { type = \"data/Text\", files = [\"" +
                 at +
                 "/text/*.txt\"], seq_len = 16, batch_size = 4 }\n"
                 "[trainer]\ntrain_steps = 2\nlearning_rate = 0.01\n"
                 "optimizer = \"optim/Adam\"\n");
  const auto train = [&](const char* steps) {
    return run(temp / "lm.toml", temp / "run",
               std::string("runtime.threads=1 trainer.train_steps=") + steps);
  };
  const auto generate = [&] {
    return trivet::test::trivet("generate " + quoted((temp / "run").string()) +
                                " \"It's\" -n 8 -t 5 --top-k 0");
  };
  const ShellResult first = train("2");
  INFO(first.output);
  REQUIRE(first.exit_code == 0);
  const std::string continued = generate().output;
  CHECK(read_file(temp / "run/tokenizer/tokenizer.json") == read_file(temp / "tokenizer.json"));
  fs::remove(temp / "tokenizer.json");
  CHECK(generate().output == continued);
  CHECK(train("4").exit_code == 0);
  // One merge less is another tokenizer.
  llama3_file(temp.path(), text, 264);
  const ShellResult other = train("6");
  CHECK(other.exit_code == 2);
  CHECK_THAT(other.output, Contains("task.tokenizer: is not that of the run"));
}

TEST_CASE("a model is imported with such a tokenizer, and names what it leaves out") {
  const TempDir dir;
  PublishedModel model = small_llama(true, 270);
  for (const char* id : {"bos_token_id", "eos_token_id"}) model.config[id] = 0;
  write_model(model, dir / "llama");
  llama3_file(dir / "llama", dir.write("words.txt", words()), 270);
  dir.write("llama/tokenizer_config.json", R"({"chat_template": [{"name": "default"}]})");
  const auto import_it = [&] {
    fs::remove_all(dir / "run");
    return trivet::test::trivet("import " + quoted((dir / "llama").string()) + " -o " +
                                quoted((dir / "run").string()));
  };
  const ShellResult imported = import_it();
  INFO(imported.output);
  REQUIRE(imported.exit_code == 0);
  CHECK_THAT(imported.output, Contains("\"chat_template\" of ") && Contains("is not imported") &&
                                  Contains("\"post_processor\" of ") &&
                                  Contains("puts <s> behind texts"));
  CHECK_THAT(read_file(dir / "run" / "config.toml"),
             Contains("tokenizers/HuggingFace") && Contains("add_bos = true"));
  const std::string file = (dir / "llama" / "tokenizer.json").string();
  const ShellResult out = trivet::test::trivet("export " + quoted((dir / "run").string()) + " -o " +
                                               quoted((dir / "out").string()));
  INFO(out.output);
  CHECK(out.exit_code == 0);
  CHECK(read_file(dir / "out" / "tokenizer.json") == read_file(file));
  Json json = Json::parse(read_file(file));
  json["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "(";
  dir.write("llama/tokenizer.json", json.dump());
  const ShellResult bad = import_it();
  CHECK(bad.exit_code == 2);
  CHECK_THAT(bad.output, Contains("pre_tokenizer.pretokenizers[0].pattern.Regex") &&
                             Contains("--no-tokenizer"));
}

}  // namespace hugging_face_tokenizer_test
