// SPDX-License-Identifier: Apache-2.0
// data/Tokens and the formats of token files. Files of llm.c and nanoGPT are written here byte by
// byte, following their programs' sources.
#include <cstring>
#include <numeric>

#include <catch2/catch.hpp>

#include "data/sequences/tokens_input.h"
#include "plugins/config_round_trip.h"
#include "plugins/data/sequences.h"
#include "trivet/config/digest.h"

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Ids = std::vector<std::int32_t>;
using Texts = std::vector<std::string>;

namespace {

template <class T>
std::string little(const std::vector<std::int64_t>& values) {
  std::string bytes;
  for (const std::int64_t value : values) {
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(value >> (8 * i));
  }
  return bytes;
}

std::vector<std::int64_t> counted(std::int64_t from, std::int64_t n) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), from);
  return values;
}

std::string llm_c_header(std::int64_t magic, std::int64_t version, std::int64_t tokens) {
  std::vector<std::int64_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = tokens;
  return little<std::int32_t>(header);
}

Ids ids_of(const std::string& text) {
  Ids ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c) + 10);
  return ids;
}

// Token files in a folder, and a config that reads "*.bin" in rows of 8, 2 per batch.
struct TokenFolder {
  TokenFolder() {
    config.files = {Path((dir / "*.bin").string())};
    config.seq_len = 8;
    config.batch_size = 2;
  }
  explicit TokenFolder(const std::string& bytes) : TokenFolder() { dir.write("a.bin", bytes); }
  // A trivet file with these documents.
  std::string own(const char* name, const Texts& documents, std::int64_t vocabulary = 266,
                  std::optional<std::int32_t> bos = 1, const std::string& tokenizer = {}) const {
    data::TokenFileHeader header;
    header.width = vocabulary > 65536 ? 4 : 2;
    header.vocabulary_size = vocabulary;
    header.bos = bos;
    header.eos = 2;
    header.tokenizer = tokenizer;
    data::TokenFileWriter writer(header);
    for (const std::string& document : documents) writer.add(ids_of(document));
    return writer.write((dir / name).string());
  }
  data::TokensInput input(Phase phase = Phase::evaluation) const {
    InputContext context{.phase = phase, .name = "task.train_input"};
    return {config, context};
  }
  std::string complaint() const { return test::complaint<data::TokensInput>(config); }

  TempDir dir;
  data::TokensConfig config;
};

Ids field(const Batch& batch, const char* name) {
  return batch.at(name).to_host<std::int32_t>();
}

}  // namespace

TEST_CASE("trivet's token files make the rows of their text", "[data-tokens]") {
  const Texts texts = {"abcd", "efghi", "jkl", "mnopqrstuvwxyz"};
  for (const std::int64_t vocabulary : {266, 70000}) {
    for (const bool pack : {true, false}) {
      TextFolder text(texts);
      text.config.pack = pack;
      auto expected_input = text.input();
      const SequenceRows expected = all_rows(expected_input);
      TokenFolder folder;
      folder.own("a.bin", {texts[0], texts[1]}, vocabulary);
      folder.own("b.bin", {texts[2], texts[3]}, vocabulary);
      folder.config.pack = pack;
      auto input = folder.input();
      const SequenceRows rows = all_rows(input);
      CHECK(rows.ids == expected.ids);
      CHECK(rows.labels == expected.labels);
      CHECK(rows.segment_ids == expected.segment_ids);
      CHECK(rows.segment_pos == expected.segment_pos);
      CHECK(rows.label_bytes.empty());
    }
  }
}

TEST_CASE("a token file's header is as documented", "[data-tokens]") {
  TokenFolder folder;
  const std::string digest_in_it =
      folder.own("a.bin", {"ab", "c"}, 266, 1, digest("some tokenizer"));
  const std::string bytes = read_file(folder.dir / "a.bin");
  const std::string body = little<std::uint64_t>({2, 3}) + little<std::uint16_t>({107, 108, 109});
  CHECK(bytes == "TRVTOK\r\n" + little<std::uint32_t>({1, 2}) + little<std::uint64_t>({266, 3, 2}) +
                     little<std::int32_t>({1, 2}) + digest("some tokenizer") + digest(body) +
                     std::string(16, '\0') + body);
  CHECK(digest_in_it == digest(body));
}

TEST_CASE("files of llm.c are windows of one run of ids", "[data-tokens]") {
  const std::string gpt2 = little<std::uint16_t>(counted(50237, 20));
  const std::string llama3 = little<std::uint32_t>(counted(50237, 20));
  for (const std::string& bytes :
       {llm_c_header(20240520, 1, 20) + gpt2, llm_c_header(20240801, 7, 20) + llama3}) {
    TokenFolder folder(bytes);
    auto input = folder.input();
    CHECK(input.batches_per_epoch() == 2);
    const Batch batch = *input.get_next();
    CHECK(field(batch, "ids")[0] == 50237);
    CHECK(field(batch, "labels")[0] == 50238);
    CHECK(field(batch, "ids")[8] == 50245);
    CHECK(field(batch, "labels")[15] == 50253);
    const Batch rest = *input.get_next();
    CHECK(field(rest, "labels")[2] == 50256);
    CHECK(rest.at("paddings").to_host<float>()[3] == 1);
  }
}

TEST_CASE("nanoGPT files are plain 16-bit ids", "[data-tokens]") {
  TokenFolder folder(little<std::uint16_t>(counted(0, 17)));
  folder.config.layout = data::TokenLayout::nanogpt;
  auto input = folder.input();
  const Batch batch = *input.get_next();
  CHECK(field(batch, "ids")[15] == 15);
  CHECK(field(batch, "labels")[15] == 16);
  CHECK_FALSE(input.get_next().has_value());
}

TEST_CASE("documents of files without an index end at an id", "[data-tokens]") {
  TokenFolder folder(little<std::uint16_t>({7, 8, 9, 2, 5, 6, 2, 4, 3}));
  folder.dir.write("b.bin", little<std::uint16_t>({11, 12, 2}));
  folder.config.layout = data::TokenLayout::nanogpt;
  folder.config.document_end = 2;
  folder.config.batch_size = 1;
  auto input = folder.input();
  const Batch batch = *input.get_next();
  CHECK(field(batch, "ids") == Ids{7, 8, 9, 5, 6, 4, 11, 12});
  CHECK(field(batch, "labels") == Ids{8, 9, 2, 6, 2, 3, 12, 2});
  CHECK(field(batch, "segment_ids") == Ids{1, 1, 1, 2, 2, 3, 4, 4});
  CHECK_FALSE(input.get_next().has_value());
}

TEST_CASE("a tokenizer next to token files provides texts and label bytes", "[data-tokens]") {
  TokenFolder folder;
  folder.own("a.bin", {"abc"}, 266, 1, "");
  folder.config.tokenizer = letters();
  auto input = folder.input();
  CHECK(all_rows(input).label_bytes[0] == "11100000");
  CHECK(text_input(input)->tokenizer() != nullptr);
  CHECK(text_input(input)->vocabulary_size() == 266);

  folder.own("a.bin", {"abc"}, 266, 1, digest("another"));
  CHECK_THAT(folder.complaint(), Contains("made with another tokenizer"));
}

TEST_CASE("inconsistent token files are refused", "[data-tokens]") {
  TokenFolder folder;
  folder.own("a.bin", {"abcd", "efgh"});
  const std::string good = read_file(folder.dir / "a.bin");
  const auto with = [&](std::size_t offset, const std::string& bytes) {
    std::string changed = good;
    changed.replace(offset, bytes.size(), bytes);
    folder.dir.write("a.bin", changed);
    return folder.complaint();
  };
  CHECK(with(0, "") == "");
  SECTION("another version, width or byte order") {
    CHECK_THAT(with(8, little<std::uint32_t>({2})), Contains("version 2; supported is version 1"));
    CHECK_THAT(with(8, std::string("\0\0\0\1", 4)), Contains("big-endian"));
    CHECK_THAT(with(12, little<std::uint32_t>({3})), Contains("ids of 3 bytes"));
    CHECK_THAT(with(12, little<std::uint32_t>({4})), Contains("2 documents and 8 ids of 4 bytes"));
    CHECK_THAT(with(16, little<std::uint64_t>({65537})),
               Contains("does not fit in ids of 2 bytes"));
    CHECK_THAT(with(16, little<std::uint64_t>({0})), Contains("vocabulary of 0"));
  }
  SECTION("sizes that overflow, and indices that run backwards") {
    CHECK_THAT(with(24, little<std::uint64_t>({-1})), Contains("after its header"));
    CHECK_THAT(with(32, little<std::uint64_t>({std::int64_t{1} << 61})),
               Contains("after its header"));
    CHECK_THAT(with(128, little<std::uint64_t>({9})), Contains("index of documents is damaged"));
    CHECK_THAT(with(136, little<std::uint64_t>({7})), Contains("index of documents is damaged"));
  }
  SECTION("truncated, or longer") {
    for (const std::size_t size : {1UL, 7UL, 8UL, 100UL, 128UL, good.size() - 1}) {
      folder.dir.write("a.bin", good.substr(0, size));
      INFO(size);
      CHECK_FALSE(folder.complaint().empty());
    }
    folder.dir.write("a.bin", good + "x");
    CHECK_THAT(folder.complaint(), Contains("was it copied completely?"));
    folder.dir.write("a.bin", "");
    CHECK_THAT(folder.complaint(), Contains("the file is empty"));
  }
  SECTION("a flipped bit, found by the checksum or, without, where it matters") {
    CHECK_THAT(with(good.size() - 1, "\x40"), Contains("its contents are damaged"));
    folder.config.verify = false;
    CHECK(with(good.size() - 1, "\x40") == "");
    CHECK_THAT(input_error([&] { folder.input().get_next(); }),
               Contains("its id number 7 is 16498, but the vocabulary has 266"));
  }
  SECTION("other files") {
    folder.dir.write("a.bin", "In the beginning God created the heaven and the earth.");
    CHECK_THAT(folder.complaint(), Contains("is not a token file") && Contains("nanogpt"));
    folder.config.layout = data::TokenLayout::nanogpt;
    folder.dir.write("a.bin", good);
    CHECK_THAT(folder.complaint(), Contains("has a header"));
    folder.dir.write("a.bin", "odd");
    CHECK_THAT(folder.complaint(), Contains("odd number of bytes"));
    folder.dir.write("a.bin", little<std::uint32_t>(counted(5, 20)));
    CHECK_THAT(folder.complaint(), Contains("seem to have 32 bits"));
  }
  SECTION("of llm.c: version, byte order, length") {
    const std::string ids = little<std::uint16_t>(counted(0, 20));
    const auto llm_c = [&](const std::string& header) {
      folder.dir.write("a.bin", header + ids);
      return folder.complaint();
    };
    CHECK(llm_c(llm_c_header(20240520, 1, 20)) == "");
    CHECK_THAT(llm_c(llm_c_header(20240520, 2, 20)), Contains("of version 2; supported is 1"));
    CHECK_THAT(llm_c(llm_c_header(20240520, 1, 21)), Contains("declares 21 ids of 2 bytes"));
    CHECK_THAT(llm_c(llm_c_header(20240801, 7, 20)), Contains("declares 20 ids of 4 bytes"));
    CHECK_THAT(llm_c(llm_c_header(__builtin_bswap32(20240520), 1, 20)), Contains("big-endian"));
    folder.dir.write("a.bin", llm_c_header(20240520, 1, 20).substr(0, 900));
    CHECK_THAT(folder.complaint(), Contains("cut off in its llm.c header"));
  }
}

TEST_CASE("ids out of the vocabulary are refused by file and number", "[data-tokens]") {
  TokenFolder folder(llm_c_header(20240520, 1, 20) + little<std::uint16_t>(counted(0, 20)));
  folder.config.vocab_size = 5;
  CHECK_THAT(folder.complaint(), Contains("a.bin: its id number 5 is 5, but the vocabulary has 5"));
  folder.dir.write("a.bin", llm_c_header(20240801, 7, 3) + little<std::int32_t>({1, -1, 2}));
  folder.config.vocab_size = 0;
  CHECK_THAT(folder.complaint(), Contains("its id number 1 is 4294967295"));
}

TEST_CASE("all ids of a file are checked before the first batch by default", "[data-tokens]") {
  TokenFolder folder;
  std::string document(1000, '1');
  document += 'z';
  folder.own("a.bin", {document}, 100);
  CHECK_THAT(folder.complaint(), Contains("a.bin: its id number 1000 is 132"));
  folder.config.verify = false;
  CHECK(folder.complaint() == "");
}

TEST_CASE("files of two tokenizers are not mixed", "[data-tokens]") {
  TokenFolder folder;
  folder.own("a.bin", {"ab"});
  folder.own("b.bin", {"cd"}, 300);
  CHECK_THAT(folder.complaint(), Contains("b.bin: was made with another tokenizer than"));
}

TEST_CASE("a saved position in token files is not one in others", "[data-tokens]") {
  TokenFolder folder;
  folder.own("a.bin", {"abcdefghijklmnopqrstuvwxyz"});
  folder.config.shuffle = true;
  auto input = folder.input(Phase::training);
  input.get_next();
  const Value position = input.save_state();
  auto resumed = folder.input(Phase::training);
  resumed.restore_state(position);
  CHECK(fingerprint(*resumed.get_next()) == fingerprint(*input.get_next()));
  folder.own("a.bin", {"abcdefghijklmnopqrstuvwxyy"});
  for (const bool verify : {true, false}) {
    folder.config.verify = verify;
    CHECK_THAT(input_error([&] { folder.input(Phase::training).restore_state(position); }),
               Contains("saved with different text"));
  }
}

TEST_CASE("the config of data/Tokens survives the way to a file", "[data-tokens]") {
  data::TokensConfig config;
  config.batch_size = 4;
  config.seq_len = 16;
  config.files = {"a.bin"};
  config.layout = data::TokenLayout::nanogpt;
  config.document_end = 50256;
  config.vocab_size = 50257;
  config.tokenizer = letters();
  config.verify = false;
  check_round_trip(config);
}
