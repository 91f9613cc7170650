// SPDX-License-Identifier: Apache-2.0
// Compressed data files, and files that are not text.
#include <zstd.h>

#include <fstream>

#include <catch2/catch.hpp>

#include "data/sequences/tokens_input.h"
#include "data/sources/jsonl_files.h"
#include "data/sources/record_files.h"
#include "data/sources/text_files.h"
#include "data/tables/csv_input.h"
#include "plugins/data/files.h"
#include "plugins/data/records.h"
#include "plugins/data/sequences.h"
#include "tokenizers/bpe/word_counts.h"
#include "tokenizers/text/corpus.h"
#include "trivet/os/input_file.h"

namespace data_compressed_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

std::string zstd(const std::string& bytes) {
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  const auto context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  const std::size_t size =
      ZSTD_compress2(context, packed.data(), packed.size(), bytes.data(), bytes.size());
  ZSTD_freeCCtx(context);
  REQUIRE(ZSTD_isError(size) == 0);
  packed.resize(size);
  return packed;
}

using Packing = std::string (*)(const std::string&);
const std::vector<Packing> kPackings = {gzip, zstd};

// Long enough to need several buffers.
std::string long_text() {
  std::string text;
  for (int i = 0; i < 60000; ++i) text += "line " + std::to_string(i * 7919 % 10007) + "\n";
  return text;
}

template <class Source>
std::string texts_of(const std::filesystem::path& file) {
  typename Source::Config config;
  config.files = {Path(file.string())};
  Source source(config);
  std::string all;
  source.read([&](const SourceExample& example) {
    for (const auto& feature : example.features) all += std::string(feature.text) + "|";
  });
  return all;
}

template <class Source>
std::string texts_complaint(const TempDir& dir, const std::string& bytes) {
  return input_error([&] { texts_of<Source>(dir.write("bad", bytes)); });
}

}  // namespace

TEST_CASE("every text source reads gzip and zstd under any file name", "[data-compressed]") {
  const TempDir dir;
  const std::string text = long_text(), lines = "{\"a\": \"x\"}\n{\"a\": \"y\"}\n";
  const std::string record = framed(tf_example({{"a", bytes_feature({"z"})}}));
  for (const Packing pack : kPackings) {
    CHECK(texts_of<data::TextFiles>(dir.write("t.txt", pack(text))) == text + "|");
    CHECK(texts_of<data::JsonlFiles>(dir.write("t.jsonl", pack(lines))) == "x|y|");
    CHECK(texts_of<data::RecordFiles>(dir.write("t.tfrecord", pack(record))) == "z|");
    // Members and frames in a row are one file; one of nothing adds nothing.
    const std::string parts = pack(text.substr(0, 5)) + pack("") + pack(text.substr(5));
    CHECK(texts_of<data::TextFiles>(dir.write("t.txt", parts)) == text + "|");
    CHECK(texts_of<data::TextFiles>(dir.write("t.txt", pack(""))) == "");

    tokenizers::WordCounts plain({}), packed({});
    plain.add(text);
    packed.add_file(dir.write("t.txt", pack(text)));
    CHECK(packed.sorted() == plain.sorted());
    CHECK(packed.bytes() == text.size());
    CHECK(tokenizers::read_corpus(dir.write("t.txt", pack(text))) == text);
  }
}

TEST_CASE("a table is read from gzip and zstd, up to its limit", "[data-compressed]") {
  const TempDir dir;
  for (const Packing pack : kPackings) {
    data::CsvConfig config;
    config.file = Path(dir.write("t.csv", pack("x,y\n1,2\n3,4\n")).string());
    config.batch_size = 2;
    InputContext context{.phase = Phase::evaluation, .name = "task.eval_input"};
    data::CsvInput input(config, context);
    CHECK(input.get_next()->at("numbers").to_host<float>() == std::vector<float>{1, 2, 3, 4});
    config.file = Path(dir.write("t.csv", pack("x\n" + std::string(100000, '\n'))).string());
    config.limit = 1000;
    CHECK_THAT(complaint<data::CsvInput>(config),
               Contains("more than limit = 1000 bytes when decompressed"));
  }
}

TEST_CASE("IDX files are read from gzip and zstd, and hold what they declare",
          "[data-compressed]") {
  const TempDir dir;
  const std::string whole = numbered_images(5), longer = numbered_images(5) + "x";
  data::IdxConfig config;
  config.images = Path((dir / "i").string());
  config.batch_size = 5;
  config.scale = 1;
  const auto complaint_of = [&](const std::string& bytes) {
    dir.write("i", bytes);
    return complaint<data::IdxInput>(config);
  };
  for (const Packing pack : kPackings) {
    CHECK(complaint_of(pack(whole)) == "");
    InputContext context{.phase = Phase::evaluation, .name = "task.eval_input"};
    data::IdxInput input(config, context);
    CHECK(take(input).examples == std::vector<std::int64_t>{0, 1, 2, 3, 4});
    CHECK_THAT(complaint_of(pack(longer)), Contains("holds more than the 36 bytes"));
    CHECK_THAT(complaint_of(pack(whole.substr(0, 30))), Contains("cut off: it has 30 of the 36"));
    CHECK_THAT(complaint_of(pack(whole.substr(0, 6))), Contains("cut off within its header"));
    const std::string packed = pack(whole);
    CHECK_THAT(complaint_of(packed.substr(0, packed.size() - 9)), Contains("cut off"));
    std::string damaged = packed;
    damaged[damaged.size() - 2] = static_cast<char>(damaged[damaged.size() - 2] ^ 0x55);
    CHECK_THAT(complaint_of(damaged), Contains("damaged") || Contains("cut off"));
  }
}

TEST_CASE("arrays of NumPy are read from gzip and zstd, up to their limit", "[data-compressed]") {
  const TempDir dir;
  const std::string array =
      npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2), }", "\1\2\3\4\5\6");
  data::NpyConfig config;
  config.batch_size = 3;
  config.scale = 1;
  const auto values = [&](const std::string& bytes) {
    config.images = Path(dir.write("a.npy", bytes).string());
    InputContext context{.phase = Phase::evaluation, .name = "task.eval_input"};
    data::NpyInput input(config, context);
    return input.get_next()->at("image").to_host<float>();
  };
  const std::vector<float> want = {1, 2, 3, 4, 5, 6};
  CHECK(values(array) == want);
  for (const Packing pack : kPackings) {
    CHECK(values(pack(array)) == want);
    dir.write("a.npy", pack(array.substr(0, array.size() - 1)));
    CHECK_THAT(complaint<data::NpyInput>(config), Contains("cut off in record 2 of 3"));
    dir.write("a.npy", pack(array).substr(0, 30));
    CHECK_THAT(complaint<data::NpyInput>(config), Contains("data is cut off after"));
    dir.write("a.npy", pack(array + std::string(100000, 'x')));
    config.limit = 1000;
    CHECK_THAT(complaint<data::NpyInput>(config),
               Contains("more than limit = 1000 bytes when decompressed"));
    config.limit = data::NpyConfig().limit;
  }
}

TEST_CASE("token files are read from gzip and zstd, up to their limit together",
          "[data-compressed]") {
  const TempDir dir;
  data::TokenFileHeader header;
  header.vocabulary_size = 300;
  data::TokenFileWriter writer(header);
  for (const std::vector<std::int32_t>& document : {std::vector<std::int32_t>{7, 8, 9}, {11, 12}}) {
    writer.add(document);
  }
  writer.write((dir / "plain").string());
  const std::string bytes = read_file(dir / "plain");
  data::TokensConfig config;
  config.files = {Path((dir / "*.bin").string())};
  config.seq_len = 4;
  config.batch_size = 2;
  const auto rows = [&](const std::string& file) {
    dir.write("a.bin", file);
    InputContext context{.phase = Phase::evaluation, .name = "task.eval_input"};
    data::TokensInput input(config, context);
    return all_rows(input).ids;
  };
  const auto want = rows(bytes);
  for (const Packing pack : kPackings) {
    CHECK(rows(pack(bytes)) == want);
    std::string damaged = bytes;
    damaged.back() = '\1';
    dir.write("a.bin", pack(damaged));
    CHECK_THAT(complaint<data::TokensInput>(config), Contains("its contents are damaged"));
    dir.write("a.bin", pack(bytes));
    dir.write("b.bin", pack(bytes));
    config.limit = static_cast<std::int64_t>(2 * bytes.size() - 1);
    CHECK_THAT(complaint<data::TokensInput>(config), Contains("bytes together when decompressed"));
    config.limit = static_cast<std::int64_t>(2 * bytes.size());
    CHECK(complaint<data::TokensInput>(config) == "");
    std::filesystem::remove(dir / "b.bin");
    config.limit = data::TokensConfig().limit;
  }
}

TEST_CASE("compressed files that are cut off, damaged or followed by something are refused",
          "[data-compressed]") {
  const TempDir dir;
  const std::string text = long_text().substr(0, 3000);
  for (const Packing pack : kPackings) {
    const std::string whole = pack(text);
    const auto complaint_of = [&](const std::string& bytes) {
      return texts_complaint<data::TextFiles>(dir, bytes);
    };
    CHECK(complaint_of(whole) == "");
    for (std::size_t cut = 4; cut < whole.size(); cut += 7) {
      INFO(cut);
      CHECK_THAT(complaint_of(whole.substr(0, cut)),
                 Contains("bad: the ") && Contains("data is cut off after "));
      CHECK_THAT(complaint_of(whole + whole.substr(0, cut)),
                 Contains("data is cut off after ") && Contains("bytes of contents"));
    }
    CHECK_THAT(complaint_of(whole + "garbage"),
               Contains("something else follows") && Contains("after 3000 bytes"));
    std::string changed = whole;
    changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 0x55);
    CHECK_THAT(complaint_of(changed), Contains("data is damaged after "));
  }
}

TEST_CASE("an input's limit counts decompressed bytes, before reading", "[data-compressed]") {
  for (const Packing pack : kPackings) {
    TextFolder folder({pack(std::string(5000, 'a')), std::string(7, 'b')});
    folder.config.limit = 1000;
    CHECK_THAT(complaint<data::TextFilesInput>(folder.config),
               Contains("has 5007 bytes, more than limit = 1000"));
    folder.config.limit = 5007;
    CHECK(complaint<data::TextFilesInput>(folder.config) == "");
    // Packed, a short text is longer.
    REQUIRE(pack("ab").size() > 10);
    TextFolder small({pack("ab")});
    small.config.limit = 10;
    CHECK(complaint<data::TextFilesInput>(small.config) == "");
    // A cut file is reported as cut off.
    TextFolder cut({pack(long_text()).substr(0, 3000)});
    CHECK_THAT(complaint<data::TextFilesInput>(cut.config), Contains("data is cut off after "));
  }
  const TempDir dir;
  const std::string lines = "{\"a\": \"x\"}\n{\"a\": \"y\"}\n";
  data::JsonlConfig config;
  config.files = {Path(dir.write("l", gzip(lines)).string())};
  CHECK(data::JsonlFiles(config).bytes() == lines.size());
}

TEST_CASE("a file that is not text is refused, with a hint", "[data-compressed]") {
  const TempDir dir;
  const auto complaint_of = [&](const std::string& bytes) {
    const std::string of_source = texts_complaint<data::TextFiles>(dir, bytes);
    // Tokenizers learn from the same files.
    const std::string of_words =
        input_error([&] { tokenizers::WordCounts({}).add_file(dir.write("bad", bytes)); });
    CHECK(of_words.empty() == of_source.empty());
    return of_source;
  };
  CHECK_THAT(complaint_of(std::string("ab\0c", 4)),
             Contains("bad: is no text: byte 3 of it is 0") && Contains("encoding = \"bytes\""));
  CHECK_THAT(complaint_of(std::string(80, 'a') + std::string(20, '\xE9')),
             Contains("20 of its 100 bytes are no UTF-8"));
  // Latin-1, mostly ASCII.
  CHECK(complaint_of(std::string(95, 'a') + std::string(5, '\xE9')) == "");
  CHECK_THAT(complaint_of(std::string("\xFF\xFE"
                                      "a\0b\0",
                                      6)),
             Contains("is UTF-16"));
  CHECK_THAT(complaint_of(std::string("\xFD"
                                      "7zXZ\0\0\4",
                                      8)),
             Contains("is compressed with xz, which is not read here"));
  CHECK_THAT(complaint_of(std::string("PK\x03\x04\0", 5)), Contains("compressed with zip"));
  CHECK_THAT(complaint_of(gzip(std::string("a\0", 2))), Contains("is no text"));
}

TEST_CASE("a line of JSON that never ends is refused", "[data-compressed]") {
  const TempDir dir;
  CHECK_THAT(texts_complaint<data::JsonlFiles>(
                 dir, "{\"a\": 1}\n{\"a\": \"" + std::string(std::size_t{17} << 20, 'x') + "\"}\n"),
             Contains("bad:2: is longer than 16 MiB"));
}

}  // namespace data_compressed_test
