// SPDX-License-Identifier: Apache-2.0
// data/SentencePairs and data/TaggedSequences. Expected rows are computed by hand; sequences.h
// describes their notation.
#include <catch2/catch.hpp>

#include "data/labeled/sentence_pairs_input.h"
#include "data/labeled/tagged_sequences_input.h"
#include "plugins/config_round_trip.h"
#include "plugins/data/jsonl.h"
#include "plugins/data/sequences.h"

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Texts = std::vector<std::string>;
using Numbers = std::vector<std::int32_t>;

namespace {

template <class I>
struct Labeled {
  explicit Labeled(const std::string& lines) {
    config.source = jsonl_source(dir, lines);
    config.tokenizer = letters();
    config.seq_len = 8;
    config.batch_size = 2;
  }
  I input(Phase phase = Phase::evaluation) const {
    InputContext context{.phase = phase, .name = "task.train_input"};
    return {config, context};
  }
  Batch first() const { return *input().get_next(); }
  std::string complaint() const {
    return input_error([&] { input().get_next(); });
  }
  TempDir dir;
  typename I::Config config;
};
using Sentences = Labeled<data::SentencePairsInput>;
using Tagged = Labeled<data::TaggedSequencesInput>;

Numbers numbers(const Batch& batch, const char* field) {
  return batch.at(field).to_host<std::int32_t>();
}

std::string types(const Batch& batch, std::size_t row) {
  std::string text;
  for (std::size_t i = 0; i < 8; ++i) {
    text += static_cast<char>('0' + numbers(batch, "token_type_ids")[8 * row + i]);
  }
  return text;
}

std::vector<std::string> problems_of(const auto& config) {
  Diagnostics diagnostics;
  config.validate(diagnostics);
  std::vector<std::string> paths;
  for (const auto& problem : diagnostics.list()) paths.push_back(problem.path);
  return paths;
}

}  // namespace

TEST_CASE("a sentence is a row with its label", "[data-labeled]") {
  const Sentences sentences(R"({"text_a": "ab", "label": 1}
{"text_a": "abcdefghij", "label": "0"}
{"text_a": "", "label": "nonsense"}
{"text_a": "c", "label": 7}
)");
  auto input = sentences.input();
  const Batch batch = *input.get_next();
  CHECK(rows_of(batch).ids == Texts{"^ab$....", "^abcdef$"});
  CHECK(rows_of(batch).paddings == Texts{"00001111", "00000000"});
  CHECK(rows_of(batch).segment_ids == Texts{"11110000", "11111111"});
  CHECK(rows_of(batch).segment_pos == Texts{"01230000", "01234567"});
  CHECK(types(batch, 0) == "00000000");
  CHECK(numbers(batch, "label") == Numbers{1, 0});
  const Batch last = *input.get_next();
  CHECK(rows_of(last).ids[0] == "^c$.....");
  CHECK(numbers(last, "label")[0] == 7);
  CHECK(last.at("weight").to_host<float>() == std::vector<float>{1, 0});
  CHECK_FALSE(input.get_next().has_value());
}

TEST_CASE("of two sentences the longer one is cut", "[data-labeled]") {
  Sentences sentences(R"({"a": "ab", "b": "c", "label": 0}
{"a": "abcdef", "b": "wx", "label": 0}
{"a": "a", "b": "uvwxyz", "label": 0}
{"a": "abcdef", "b": "uvwxyz", "label": 0}
)");
  sentences.config.text_a = "{a}";
  sentences.config.text_b = "{b}";
  sentences.config.batch_size = 4;
  const Batch batch = sentences.first();
  CHECK(rows_of(batch).ids == Texts{"^ab$c$..", "^abc$wx$", "^a$uvwx$", "^abc$uv$"});
  CHECK(types(batch, 0) == "00001100");
  CHECK(types(batch, 1) == "00000111");
  CHECK(types(batch, 2) == "00011111");
}

TEST_CASE("labels have names, or are numbers", "[data-labeled]") {
  Sentences named(R"({"text_a": "a", "label": "good"}
{"text_a": "b", "label": "bad"}
)");
  named.config.class_names = {"bad", "good"};
  CHECK(numbers(named.first(), "label") == Numbers{1, 0});
  named.config.class_names = {"bad", "goose"};
  CHECK_THAT(named.complaint(), Contains("examples.jsonl:1: 'good' is not in class_names"));
  named.config.class_names = {};
  CHECK_THAT(named.complaint(), Contains("examples.jsonl:1: the label 'good' is not a class"));

  Sentences numbered(R"({"text_a": "a", "label": 2.5}
{"text_a": "b", "label": "-1e1"}
)");
  numbered.config.label_type = data::LabelType::number;
  CHECK(numbered.first().at("label").to_host<float>() == std::vector<float>{2.5F, -10});
  numbered.config.label_type = data::LabelType::category;
  CHECK_THAT(numbered.complaint(), Contains("the label '2.5' is not a class"));

  Sentences bad("{\"text_a\": \"a\", \"label\": \"nan\"}\n");
  bad.config.label_type = data::LabelType::number;
  CHECK_THAT(bad.complaint(), Contains("the label 'nan' is not a number"));
  CHECK_THAT(Sentences("{\"text_a\": \"a\", \"label\": -1}\n").complaint(),
             Contains("is negative"));
  CHECK_THAT(Sentences("{\"text_a\": \"a\", \"label\": 99999999999}\n").complaint(),
             Contains("is not a class"));
  CHECK_THAT(Sentences("{\"text_a\": \"a\"}\n").complaint(), Contains("has no feature 'label'"));
  CHECK_THAT(Sentences("{\"text_b\": \"a\", \"label\": 0}\n").complaint(),
             Contains("has no feature 'text_a'"));
  CHECK_THAT(Sentences("{\"text_a\": \"\", \"label\": 0}\n").complaint(),
             Contains("no document is long enough to make a row"));
}

TEST_CASE("special tokens are the config's, else the tokenizer's, or left out", "[data-labeled]") {
  Sentences sentences("{\"text_a\": \"ab\", \"text_b\": \"c\", \"label\": 0}\n");
  sentences.config.batch_size = 1;
  sentences.config.cls_id = 'X' + 10;
  CHECK(rows_of(sentences.first()).ids == Texts{"Xab$...."});
  sentences.config.cls_id = 266;
  CHECK_THAT(sentences.complaint(), Contains("cls_id: is 266, but the largest id is 265"));
  sentences.config.cls_id.reset();
  sentences.config.tokenizer = letters(false);
  CHECK(rows_of(sentences.first()).ids == Texts{"ab......"});
  sentences.config.text_b = "{text_b}";
  CHECK_THAT(sentences.complaint(), Contains("no token to put between two sentences"));
  sentences.config.tokenizer = letters();
  sentences.config.seq_len = 3;
  CHECK_THAT(sentences.complaint(), Contains("leaves no room for text next to 3 special tokens"));
}

TEST_CASE("the first token of each word has its tag", "[data-labeled]") {
  Tagged tagged(R"({"words": "ab c  de", "tags": "B-X O\tI-X"}
{"words": "x", "tags": "O"}
{"words": "", "tags": ""}
)");
  tagged.config.class_names = {"O", "B-X", "I-X"};
  tagged.config.seq_len = 10;
  const Batch batch = tagged.first();
  CHECK(rows_of(batch).ids == Texts{"^ab c de$.", "^x$......."});
  CHECK(numbers(batch, "tags") == Numbers{-1, 1, -1, 0,  -1, 2,  -1, -1, -1, -1,  //
                                          -1, 0, -1, -1, -1, -1, -1, -1, -1, -1});
  CHECK(rows_of(batch).weights == Texts{"0101010000", "0100000000"});
  tagged.config.separator = "";
  CHECK(rows_of(tagged.first()).ids[0] == "^abcde$...");
  CHECK(rows_of(tagged.first()).weights[0] == "0101100000");
}

TEST_CASE("a long sentence continues in the next row, between words", "[data-labeled]") {
  Tagged tagged(R"({"words": "abc de f ghijklmnopqrst uv", "tags": "O A A O A"}
{"words": "x", "tags": "O"}
)");
  tagged.config.class_names = {"O", "A"};
  tagged.config.batch_size = 5;
  const Batch batch = tagged.first();
  CHECK(rows_of(batch).ids == Texts{"^abc de$", "^ f$....", "^ ghijk$", "^ uv$...", "^x$....."});
  CHECK(rows_of(batch).weights ==
        Texts{"01001000", "01000000", "01000000", "01000000", "01000000"});
}

TEST_CASE("rows that fill the last batch have no tags", "[data-labeled]") {
  Tagged tagged("{\"words\": \"a\", \"tags\": \"A\"}\n");
  tagged.config.class_names = {"O", "A"};
  const Batch batch = tagged.first();
  CHECK(rows_of(batch).weights == Texts{"01000000", "00000000"});
  CHECK(numbers(batch, "tags")[9] == -1);
}

TEST_CASE("invalid tags are reported by file and line", "[data-labeled]") {
  Tagged tagged("{\"words\": \"a b\", \"tags\": \"O\"}\n");
  tagged.config.class_names = {"O", "B-PER"};
  CHECK_THAT(tagged.complaint(), Contains("examples.jsonl:1: there are 2 words and 1 tags"));
  Tagged unknown("{\"words\": \"a\", \"tags\": \"B-PRE\"}\n");
  unknown.config.class_names = {"O", "B-PER"};
  CHECK_THAT(unknown.complaint(), Contains("'B-PRE' is not in class_names"));
}

TEST_CASE("labeled rows come again from a saved location, and not from others", "[data-labeled]") {
  std::string lines;
  for (char c = 'a'; c <= 'z'; ++c) {
    lines.append(R"({"text_a": ")").append(1, c);
    lines.append(R"(", "label": )").append(std::to_string(c % 3)).append("}\n");
  }
  Sentences sentences(lines);
  sentences.config.shuffle = true;
  auto input = sentences.input(Phase::training);
  for (int i = 0; i < 9; ++i) input.get_next();
  const Value location = input.save_state();
  auto resumed = sentences.input(Phase::training);
  resumed.restore_state(location);
  for (int i = 0; i < 9; ++i) {
    CHECK(fingerprint(*resumed.get_next()) == fingerprint(*input.get_next()));
  }
  sentences.config.label = "1";
  CHECK_THAT(input_error([&] { sentences.input(Phase::training).restore_state(location); }),
             Contains("saved with different text"));
}

TEST_CASE("the plugin offers both inputs of labeled texts", "[data-labeled]") {
  const Sentences sentences("{\"text_a\": \"a\", \"label\": 0}\n");
  InputContext context{.phase = Phase::evaluation};
  const auto pairs = make(ConfigOf<Input>("data/SentencePairs", encode(sentences.config)), context);
  CHECK(fingerprint(*pairs->get_next()) == fingerprint(sentences.first()));
  Tagged tagged("{\"words\": \"a\", \"tags\": \"O\"}\n");
  tagged.config.class_names = {"O"};
  const auto tags = make(ConfigOf<Input>("data/TaggedSequences", encode(tagged.config)), context);
  CHECK(fingerprint(*tags->get_next()) == fingerprint(tagged.first()));
}

TEST_CASE("the configs of labeled texts survive the way to a file, and their rules hold",
          "[data-labeled]") {
  Sentences sentences("{}");
  sentences.config.text_b = "{b}";
  sentences.config.cls_id = 3;
  sentences.config.class_names = {"no", "yes"};
  check_round_trip(sentences.config);
  sentences.config.text_a = "{";
  sentences.config.label = "}";
  sentences.config.class_names = {"no", "no"};
  sentences.config.label_type = data::LabelType::number;
  CHECK(problems_of(sentences.config) == Texts{"class_names", "text_a", "label", "class_names"});
  Tagged tagged("{}");
  tagged.config.class_names = {"O"};
  tagged.config.separator = "";
  check_round_trip(tagged.config);
  tagged.config.class_names = {};
  tagged.config.words = "{";
  tagged.config.tags = "}";
  CHECK(problems_of(tagged.config) == Texts{"words", "tags", "class_names"});
}
