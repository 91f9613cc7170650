// SPDX-License-Identifier: Apache-2.0
// Text prepared as token files, as by `trivet data prepare`.
#include "trivet/extensions/preparation.h"

#include <set>

#include <catch2/catch.hpp>

#include "data/sequences/tokens_input.h"
#include "plugins/data/sequences.h"

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

PreparedData prepare(const TextFolder& text, const fs::path& to, std::uint64_t shard_bytes) {
  const auto input = text.input();
  const PreparableInput* preparable = preparable_input(input);
  REQUIRE(preparable != nullptr);
  return preparable->prepare(to, shard_bytes);
}

data::TokensInput tokens(const TextFolder& text, const fs::path& folder) {
  data::TokensConfig config;
  config.files = {Path((folder / "tokens-*.bin").string())};
  config.seq_len = text.config.seq_len;
  config.batch_size = text.config.batch_size;
  InputContext context{.phase = Phase::evaluation};
  return {config, context};
}

std::set<std::string> names(const fs::path& folder) {
  std::set<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    found.insert(entry.path().filename().string());
  }
  return found;
}

}  // namespace

TEST_CASE("prepared text makes the rows of the text, in any number of files",
          "[data-preparation]") {
  const TextFolder text({"abcd", "efghijkl", "mn", "opqrstuvwxyz"});
  for (const std::uint64_t shard_bytes : {1, 28, 1000}) {
    const TempDir to;
    const PreparedData made = prepare(text, to.path(), shard_bytes);
    CHECK_FALSE(made.reused);
    CHECK(made.files.size() == (shard_bytes == 1 ? 4 : shard_bytes == 28 ? 2 : 1));
    CHECK(made.facts == std::vector<std::string>{"4 documents", "26 bytes", "26 tokens"});
    CHECK(to_toml(made.input) ==
          "{type = \"data/Tokens\", files = [\"" + (to / "tokens-*.bin").string() + "\"]}");
    auto expected = text.input();
    auto from_files = tokens(text, to.path());
    CHECK(all_rows(from_files).labels == all_rows(expected).labels);
  }
}

TEST_CASE("a preparation is reused if it is current, and redone if not", "[data-preparation]") {
  TextFolder text({"abcd", "efgh"});
  const TempDir to;
  prepare(text, to.path(), 8);
  CHECK(names(to.path()) ==
        std::set<std::string>{"data.toml", "tokens-00000.bin", "tokens-00001.bin"});
  const std::string index = read_file(to / "data.toml");
  CHECK_THAT(index, Contains("tokens = 8\n") && Contains("file = \"tokens-00001.bin\""));
  CHECK(prepare(text, to.path(), 8).reused);
  SECTION("other text") {
    text.folder().write("1.txt", "efgi");
    CHECK_FALSE(prepare(text, to.path(), 8).reused);
    CHECK(prepare(text, to.path(), 8).reused);
  }
  SECTION("the same in other files") {
    fs::rename(text.folder() / "1.txt", text.folder() / "7.txt");
    CHECK(prepare(text, to.path(), 8).reused);
  }
  SECTION("fewer files, of which none is left over") {
    CHECK_FALSE(prepare(text, to.path(), 1000).reused);
    CHECK(names(to.path()) == std::set<std::string>{"data.toml", "tokens-00000.bin"});
  }
  SECTION("a damaged file") {
    std::string bytes = read_file(to / "tokens-00001.bin");
    bytes.back() ^= 1;
    to.write("tokens-00001.bin", bytes);
    CHECK_FALSE(prepare(text, to.path(), 8).reused);
    CHECK(prepare(text, to.path(), 8).reused);
  }
  SECTION("a file too many, as after a kill") {
    to.write("tokens-00002.bin", read_file(to / "tokens-00001.bin"));
    CHECK_FALSE(prepare(text, to.path(), 8).reused);
    CHECK(names(to.path()).size() == 3);
  }
  SECTION("no data.toml") {
    fs::remove(to / "data.toml");
    CHECK_FALSE(prepare(text, to.path(), 8).reused);
    CHECK(read_file(to / "data.toml") == index);
  }
}

TEST_CASE("more text than fits into memory can be prepared", "[data-preparation]") {
  TextFolder text({"abcdefgh"});
  text.config.limit = 1;
  const TempDir to;
  CHECK_THAT(input_error([&] { text.input().get_next(); }), Contains("trivet data prepare"));
  CHECK(prepare(text, to.path(), 8).files.size() == 1);
}

TEST_CASE("a failed preparation leaves nothing that looks complete", "[data-preparation]") {
  TextFolder text({"abcd", "efgh"});
  const TempDir to;
  prepare(text, to.path(), 8);
  text.folder().write("1.txt", "ef!");
  text.config.tokenizer = wrong_letters(266, 266);
  CHECK_THAT(input_error([&] { prepare(text, to.path(), 8); }), Contains("made the id 266"));
  CHECK_FALSE(fs::exists(to / "data.toml"));
  text.folder().write("1.txt", "");
  text.folder().write("0.txt", "");
  CHECK_THAT(input_error([&] { prepare(text, to.path(), 8); }), Contains("the source has no text"));
}
