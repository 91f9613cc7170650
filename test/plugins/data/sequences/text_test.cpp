// SPDX-License-Identifier: Apache-2.0
// data/Text: the documents in files, and the rows of documents. Expected rows are computed by hand;
// sequences.h describes their notation.
#include "trivet/extensions/text.h"

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

#include "data/sequences/row_layout.h"
#include "data/sources/text_files.h"
#include "plugins/config_round_trip.h"
#include "plugins/data/sequences.h"
#include "support/property.h"

namespace data_text_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Texts = std::vector<std::string>;

namespace {

std::string text_complaint(const data::TextConfig& config) {
  return complaint<data::TextFilesInput>(config);
}

// The documents of a config, each with its position.
Texts documents(const TextFolder& folder) {
  Texts texts;
  data::TextFilesConfig config;
  config.files = folder.config.files;
  config.documents = folder.config.documents;
  config.part_begin = folder.config.part_begin;
  config.part_end = folder.config.part_end;
  data::TextFiles(config).read([&](const SourceExample& example) {
    REQUIRE(example.features.size() == 1);
    CHECK(example.features[0].name == "text");
    texts.push_back(example.location.substr(example.location.rfind('/') + 1) + " " +
                    std::string(example.features[0].text));
  });
  return texts;
}

Texts taken(Input& input, int batches) {
  Texts seen;
  for (int i = 0; i < batches; ++i) {
    if (const auto batch = input.get_next()) seen.push_back(fingerprint(*batch));
  }
  return seen;
}

}  // namespace

TEST_CASE("packed documents follow each other and continue in the next row", "[data-text]") {
  TextFolder folder({"abcd", "efghi", "jkl"});
  auto input = folder.input();
  CHECK(input.batches_per_epoch() == 1);
  const SequenceRows rows = all_rows(input);
  // abcd$ takes 5 positions, efghi$ 6 of which 3 are in the first row, jkl$ 4.
  CHECK(rows.ids == Texts{"^abcd^ef", "ghi^jkl."});
  CHECK(rows.labels == Texts{"abcd$efg", "hi$jkl$."});
  CHECK(rows.weights == Texts{"11111111", "11111110"});
  CHECK(rows.paddings == Texts{"00000000", "00000001"});
  CHECK(rows.segment_ids == Texts{"11111222", "11122220"});
  CHECK(rows.segment_pos == Texts{"01234012", "01201230"});
  CHECK(rows.label_bytes == Texts{"11110111", "11011100"});
}

TEST_CASE("whole documents are packed greedily, and longer ones trimmed", "[data-text]") {
  TextFolder folder({"ab", "cde", "fghijklmnopq", "r", "s"});
  folder.config.long_documents = data::LongDocuments::trim;
  folder.config.batch_size = 3;
  auto input = folder.input();
  const SequenceRows rows = all_rows(input);
  CHECK(rows.labels == Texts{"ab$cde$.", "fghijkl$", "r$s$...."});
  CHECK(rows.ids == Texts{"^ab^cde.", "^fghijkl", "^r^s...."});
  CHECK(rows.segment_ids == Texts{"11122220", "11111111", "11220000"});
  CHECK(rows.segment_pos == Texts{"01201230", "01234567", "01010000"});
}

TEST_CASE("documents that fill a row to its end are packed", "[data-text]") {
  TextFolder folder({"abcdefg", "hij", "klm", "nopqrst"});
  folder.config.long_documents = data::LongDocuments::trim;
  folder.config.batch_size = 3;
  auto input = folder.input();
  CHECK(all_rows(input).labels == Texts{"abcdefg$", "hij$klm$", "nopqrst$"});
}

TEST_CASE("whole documents are packed in order, each row with as many as fit", "[data-text]") {
  check_property([](const std::vector<std::uint8_t>& sizes, std::uint8_t length) {
    std::vector<std::int64_t> positions;
    for (const std::uint8_t size : sizes) positions.push_back(size % 30);
    const std::int64_t seq_len = 1 + length % 40;
    const data::RowLayout layout(positions, {seq_len, true, true, 0});
    std::vector<data::Piece> pieces, all;
    for (std::int64_t row = 0; row < layout.rows(); ++row) {
      layout.pieces_of(row, 0, pieces);
      RC_ASSERT(!pieces.empty());
      std::int64_t used = 0;
      for (const data::Piece& piece : pieces) used += piece.length;
      RC_ASSERT(used <= seq_len);
      all.insert(all.end(), pieces.begin(), pieces.end());
      if (row + 1 == layout.rows()) continue;
      std::vector<data::Piece> following;
      layout.pieces_of(row + 1, 0, following);
      RC_ASSERT(used + following[0].length > seq_len);
    }
    std::vector<data::Piece> expected;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (positions[i] > 0) {
        expected.push_back({static_cast<std::int64_t>(i), 0, std::min(positions[i], seq_len), 0});
      }
    }
    RC_ASSERT(all == expected);
  });
}

TEST_CASE("without packing a row holds one document or a window of one", "[data-text]") {
  TextFolder folder({"abcdefghij", "kl"});
  folder.config.pack = false;
  folder.config.batch_size = 3;
  {
    auto input = folder.input();
    const SequenceRows rows = all_rows(input);
    CHECK(rows.labels == Texts{"abcdefgh", "ij$.....", "kl$....."});
    CHECK(rows.ids == Texts{"^abcdefg", "hij.....", "^kl....."});
    CHECK(rows.segment_ids == Texts{"11111111", "11100000", "11100000"});
  }
  folder.config.long_documents = data::LongDocuments::trim;
  folder.config.batch_size = 2;
  auto input = folder.input();
  CHECK(all_rows(input).labels == Texts{"abcdefg$", "kl$....."});
}

TEST_CASE("without BOS and EOS a document is its window, shifted by one", "[data-text]") {
  TextFolder folder({"abcdefghijklmnopq", "r", "st"});
  folder.config.tokenizer = letters(false);
  folder.config.batch_size = 3;
  auto input = folder.input();
  const SequenceRows rows = all_rows(input);
  // The single r has no token before it: no row has it.
  CHECK(rows.ids == Texts{"abcdefgh", "ijklmnop", "s......."});
  CHECK(rows.labels == Texts{"bcdefghi", "jklmnopq", "t......."});
}

TEST_CASE("special tokens follow the config", "[data-text]") {
  TextFolder folder({"ab", "cd"});
  folder.config.batch_size = 1;
  SECTION("no BOS") {
    folder.config.add_bos = false;
    auto input = folder.input();
    const SequenceRows rows = all_rows(input);
    CHECK(rows.ids == Texts{"abcd...."});
    CHECK(rows.labels == Texts{"b$d$...."});
  }
  SECTION("no EOS") {
    folder.config.add_eos = false;
    auto input = folder.input();
    CHECK(all_rows(input).labels == Texts{"abcd...."});
  }
  SECTION("custom ids, one of which also occurs in text") {
    folder.config.tokenizer = letters(false);
    folder.config.bos_id = 1;
    folder.config.eos_id = 'b' + 10;
    auto input = folder.input();
    const SequenceRows rows = all_rows(input);
    CHECK(rows.labels == Texts{"abbcdb.."});
    CHECK(rows.label_bytes == Texts{"11011000"});
  }
  SECTION("that there are not") {
    folder.config.tokenizer = letters(false);
    folder.config.add_eos = true;
    CHECK_THAT(text_complaint(folder.config), Contains("task.train_input.eos_id") &&
                                                  Contains("no such token") &&
                                                  Contains("add_eos = false"));
  }
  SECTION("out of the vocabulary") {
    folder.config.bos_id = 266;
    CHECK_THAT(text_complaint(folder.config), Contains("is 266, but the largest id is 265"));
  }
}

TEST_CASE("a row of one position has one token of context", "[data-text]") {
  TextFolder folder({"abc"});
  folder.config.seq_len = 1;
  folder.config.batch_size = 4;
  auto input = folder.input();
  const SequenceRows rows = all_rows(input);
  CHECK(rows.ids == Texts{"^", "a", "b", "c"});
  CHECK(rows.labels == Texts{"a", "b", "c", "$"});
}

TEST_CASE("rows that only fill the last batch have weight 0", "[data-text]") {
  TextFolder folder({"abcdefghi"});
  folder.config.batch_size = 3;
  auto input = folder.input();
  const Batch batch = *input.get_next();
  CHECK(batch.at("weight").to_host<float>() == std::vector<float>{1, 1, 0});
  const SequenceRows rows = rows_of(batch);
  CHECK(rows.labels == Texts{"abcdefgh", "i$......", "abcdefgh"});
  CHECK(rows.weights == Texts{"11111111", "11000000", "00000000"});
  CHECK_FALSE(input.get_next().has_value());
}

TEST_CASE("documents are files, paragraphs or lines", "[data-text]") {
  TextFolder folder({"one\r\ntwo\r\n\r\n \t\r\nthree\r\n", "", "\n\nfour\n\nfive"});
  SECTION("files: all bytes, and empty ones are none") {
    CHECK(documents(folder) ==
          Texts{"0.txt one\r\ntwo\r\n\r\n \t\r\nthree\r\n", "2.txt \n\nfour\n\nfive"});
  }
  SECTION("paragraphs end at blank lines") {
    folder.config.documents = data::Documents::paragraph;
    CHECK(documents(folder) ==
          Texts{"0.txt:1 one\r\ntwo", "0.txt:5 three", "2.txt:3 four", "2.txt:5 five"});
  }
  SECTION("lines lose their ends, and empty ones are none") {
    folder.config.documents = data::Documents::line;
    CHECK(documents(folder) == Texts{"0.txt:1 one", "0.txt:2 two", "0.txt:4  \t", "0.txt:5 three",
                                     "2.txt:3 four", "2.txt:5 five"});
  }
}

TEST_CASE("parts of a file join without a gap, at whole characters", "[data-text]") {
  check_property([](const std::string& ascii, std::vector<std::uint32_t> characters) {
    std::string text;
    for (const char c : ascii) text += static_cast<char>(c & 0x7F);
    for (const std::uint32_t c : characters) {
      if (c % 3 == 0) text += "\xF0\x9F\x98\x80";
      if (c % 3 == 1) text += "\xC3\xA9";
      if (c % 3 == 2) text += static_cast<char>('a' + c % 26);
    }
    for (const double share : {0.0, 0.1, 0.5, 0.77, 1.0}) {
      const auto first = data::part_of(text, 0, share), second = data::part_of(text, share, 1);
      RC_ASSERT(std::string(first) + std::string(second) == text);
      // In parentheses, since RC_ASSERT cannot decompose ||.
      RC_ASSERT((second.empty() || (static_cast<unsigned char>(second[0]) & 0xC0) != 0x80));
    }
  });
  // At most three bytes that are not part of a character are skipped.
  CHECK(data::part_of(std::string(20, '\x80'), 0.5, 1).size() == 7);
}

TEST_CASE("a part of each file is read, by lines of the whole file", "[data-text]") {
  TextFolder folder({"a\nb\nc\nd\n", "e\nf\ng\nh\n"});
  folder.config.documents = data::Documents::line;
  folder.config.part_begin = 0.5;
  CHECK(documents(folder) == Texts{"0.txt:3 c", "0.txt:4 d", "1.txt:3 g", "1.txt:4 h"});
  folder.config.part_begin = 0;
  folder.config.part_end = 0.5;
  CHECK(documents(folder) == Texts{"0.txt:1 a", "0.txt:2 b", "1.txt:1 e", "1.txt:2 f"});
}

TEST_CASE("a few invalid UTF-8 bytes are kept", "[data-text]") {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  TextFolder folder({bytes});
  CHECK_THAT(text_complaint(folder.config),
             Contains("0.txt: is no text: byte 1 of it is 0") && Contains("encoding = \"bytes\""));
  folder.config.encoding = data::Encoding::bytes;
  folder.config.tokenizer = letters(false);
  folder.config.seq_len = 255;
  folder.config.batch_size = 1;
  auto input = folder.input();
  const auto ids = input.get_next()->at("ids").to_host<std::int32_t>();
  for (int i = 0; i < 255; ++i) {
    INFO(i);
    // wrong_letters() gives "!" the id that it has anyway.
    REQUIRE(ids[static_cast<std::size_t>(i)] == i + 10);
  }
}

TEST_CASE("files are read once each, in the order of their names", "[data-text]") {
  TextFolder folder({"ab", "cd"});
  const std::string first = (folder.folder() / "0.txt").string();
  const std::string second = (folder.folder() / "1.txt").string();
  folder.folder().write("[odd]*.txt", "ef");
  folder.config.files = {Path(second), Path((folder.folder() / "[01].txt").string()),
                         Path((folder.folder() / "[odd]*.txt").string()), Path(first)};
  CHECK(documents(folder) == Texts{"0.txt ab", "1.txt cd", "[odd]*.txt ef"});
}

TEST_CASE("a file under two names is read once", "[data-text]") {
  const TextFolder folder({"ab", "cd"});
  std::filesystem::create_symlink("1.txt", folder.folder() / "0a.txt");
  std::filesystem::create_hard_link(folder.folder() / "0.txt", folder.folder() / "2.txt");
  CHECK(documents(folder) == Texts{"0.txt ab", "0a.txt cd"});
}

TEST_CASE("unreadable files are errors with the reason", "[data-text]") {
  TextFolder folder({"ab"});
  const auto path = [&](const char* name) { return Path((folder.folder() / name).string()); };
  SECTION("a pattern without a match") {
    folder.config.files = {path("*.md")};
    CHECK_THAT(text_complaint(folder.config), Contains("*.md: no such file"));
  }
  SECTION("a folder") {
    folder.config.files = {Path(folder.folder().path().string())};
    CHECK_THAT(text_complaint(folder.config), Contains("a directory, not a file"));
  }
  SECTION("no files") {
    folder.config.files = {};
    CHECK_THAT(text_complaint(folder.config), Contains("files: the list is empty"));
  }
  SECTION("empty files") {
    folder.folder().write("0.txt", "");
    CHECK_THAT(text_complaint(folder.config), Contains("no document is long enough to make a row"));
  }
  SECTION("one token and none before it") {
    folder.folder().write("0.txt", "a");
    folder.config.tokenizer = letters(false);
    CHECK_THAT(text_complaint(folder.config), Contains("a token to predict and one before it"));
  }
  SECTION("more than fits") {
    folder.config.limit = 1;
    CHECK_THAT(text_complaint(folder.config),
               Contains("has 2 bytes, more than limit = 1") && Contains("trivet data prepare"));
  }
  SECTION("ids outside the vocabulary") {
    folder.folder().write("0.txt", "ab!");
    for (const std::int32_t wrong : {-1, 266}) {
      folder.config.tokenizer = wrong_letters(266, wrong);
      CHECK_THAT(text_complaint(folder.config),
                 Contains("0.txt: the tokenizer made the id " + std::to_string(wrong)) &&
                     Contains("vocabulary has 266"));
    }
  }
  SECTION("no vocabulary") {
    folder.config.tokenizer = wrong_letters(0, 0);
    CHECK_THAT(text_complaint(folder.config), Contains("has a vocabulary of 0"));
  }
}

TEST_CASE("rows hold every token of every document once, in order", "[data-text]") {
  check_property([](const std::vector<std::string>& texts, std::uint8_t length, bool pack) {
    TextFolder folder({});
    std::string all;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      folder.folder().write(std::to_string(1000 + i) + ".txt", texts[i]);
      if (!texts[i].empty()) all += texts[i] + "$";
    }
    if (all.empty()) return;
    folder.config.encoding = data::Encoding::bytes;
    folder.config.seq_len = 1 + length % 20;
    folder.config.pack = pack;
    folder.config.batch_size = 3;
    auto input = folder.input();
    std::string labels;
    while (const auto batch = input.get_next()) {
      const auto ids = batch->at("ids").to_host<std::int32_t>();
      const auto label = batch->at("labels").to_host<std::int32_t>();
      const auto weights = batch->at("weights").to_host<float>();
      const auto paddings = batch->at("paddings").to_host<float>();
      const auto positions = batch->at("segment_pos").to_host<std::int32_t>();
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (weights[i] == 0) continue;
        RC_ASSERT(paddings[i] == 0);
        // The id before a label is the previous label, or BOS before a document's first label.
        if (positions[i] > 0) RC_ASSERT(ids[i] == label[i - 1]);
        if (ids[i] == 1) RC_ASSERT((labels.empty() || labels.back() == '$'));
        labels += label[i] == 2 ? '$' : static_cast<char>(label[i] - 10);
      }
    }
    RC_ASSERT(labels == all);
  });
}

TEST_CASE("from a saved position in mid-epoch come the batches that would have come",
          "[data-text]") {
  std::string numbers;
  for (int i = 100; i < 300; ++i) numbers += std::to_string(i);
  TextFolder folder({numbers});
  folder.config.shuffle = true;
  auto input = folder.input(Phase::training);
  CHECK(input.batches_per_epoch() == 38);
  const Texts first = taken(input, 45);
  CHECK(std::set<std::string>(first.begin(), first.end()).size() == 45);
  const Value position = input.save_state();
  auto resumed = folder.input(Phase::training);
  resumed.restore_state(position);
  CHECK(taken(resumed, 50) == taken(input, 50));

  std::reverse(numbers.begin(), numbers.end());
  folder.folder().write("0.txt", numbers);
  CHECK_THAT(input_error([&] { folder.input(Phase::training).restore_state(position); }),
             Contains("task.train_input: the state was saved with different text"));
}

TEST_CASE("a text input provides its tokenizer, and ids become strings", "[data-text]") {
  TextFolder folder({"abcdef"});
  auto input = folder.input();
  const TextInput* text = text_input(input);
  REQUIRE(text != nullptr);
  CHECK(text->vocabulary_size() == 266);
  REQUIRE(text->texts().size() == 1);
  CHECK(text->texts()[0].ids == "labels");
  CHECK(text->texts()[0].tokenizer == text->tokenizer());
  const Batch batch = *input.get_next();
  const std::int64_t lengths[] = {3, 0};
  CHECK(ids_to_strings(*text->tokenizer(), batch.at("labels"), lengths) == Texts{"abc", ""});
  CHECK(ids_to_strings(*text->tokenizer(), batch.at("labels"))[0] == "abcdef");
  const std::int64_t long_ones[] = {9, 0};
  CHECK_THROWS_WITH(ids_to_strings(*text->tokenizer(), batch.at("labels"), long_ones),
                    Contains("length 9 of rows of 8"));
  CHECK_THROWS_WITH(ids_to_strings(*text->tokenizer(), batch.at("weight")), Contains("[rows, T]"));
}

TEST_CASE("the config of data/Text survives the way to a file, and its rules hold", "[data-text]") {
  data::TextConfig config;
  config.batch_size = 4;
  config.seq_len = 16;
  config.files = {"a.txt", "b/*.txt"};
  config.tokenizer = letters();
  config.documents = data::Documents::line;
  config.long_documents = data::LongDocuments::trim;
  config.pack = false;
  config.add_bos = false;
  config.eos_id = 7;
  config.part_end = 0.9;
  config.limit = 12;
  check_round_trip(config);
  config.part_begin = 0.9;
  Diagnostics diagnostics;
  config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list()[0].path == "part_end");
}

}  // namespace data_text_test
