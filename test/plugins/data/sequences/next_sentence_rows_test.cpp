// SPDX-License-Identifier: Apache-2.0
// data/MaskedLanguageModel with next_sentence: pairs of spans, their labels and draws, and errors.
#include <cmath>
#include <set>

#include <catch2/catch.hpp>

#include "data/sequences/masked_language_model_input.h"
#include "plugins/config_round_trip.h"
#include "plugins/data/jsonl.h"
#include "plugins/data/sequences.h"

namespace next_sentence_rows_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

struct Pairs {
  explicit Pairs(const std::vector<std::string>& texts) {
    std::string lines;
    for (const std::string& text : texts) lines += "{\"text\": \"" + text + "\"}\n";
    config.source = jsonl_source(dir, lines);
    config.tokenizer = letters();
    config.seq_len = 11;  // room for 8 tokens
    config.batch_size = 2;
    config.mask_id = 4;
    config.mask_share = config.random_share = 0;  // ids stay, so that rows can be read
    config.pack = false;
    config.next_sentence = true;
  }
  data::MaskedLanguageModelInput input(Phase phase = Phase::evaluation) const {
    InputContext context{.phase = phase, .name = "task.train_input"};
    return {config, context};
  }
  std::string complaint() const { return test::complaint<data::MaskedLanguageModelInput>(config); }
  TempDir dir;
  data::MaskedLanguageModelConfig config;
};

struct Seen {
  std::string first, second;
  int label = 0;
};

// Reads "^first$second$" and checks the fields around it.
std::vector<Seen> rows(const Batch& batch) {
  const SequenceRows text = rows_of(batch);
  const auto labels = batch.at("next_sentence_label").to_host<std::int32_t>();
  const auto types = batch.at("token_type_ids").to_host<std::int32_t>();
  std::vector<Seen> rows;
  for (std::size_t i = 0; i < text.ids.size(); ++i) {
    const std::string& row = text.ids[i];
    const std::size_t middle = row.find('$'), end = row.find('$', middle + 1);
    REQUIRE(end != std::string::npos);
    CHECK(row[0] == '^');
    CHECK(row == text.labels[i]);
    CHECK(row.find_first_not_of('.', end + 1) == std::string::npos);
    Seen seen{.first = row.substr(1, middle - 1),
              .second = row.substr(middle + 1, end - middle - 1),
              .label = labels[i]};
    for (std::size_t at = 0; at < row.size(); ++at) {
      CHECK(types[i * row.size() + at] == (at > middle && at <= end ? 1 : 0));
      CHECK(text.paddings[i][at] == (at <= end ? '0' : '1'));
      CHECK(text.segment_ids[i][at] == (at <= end ? '1' : '0'));
    }
    rows.push_back(seen);
  }
  return rows;
}

}  // namespace

TEST_CASE("a second sentence follows the first or is of another document", "[data-masked]") {
  const std::vector<std::string> texts = {"abcdefghijklmnopqrstuvwxyz", "0123456789", "ABC", "Z"};
  Pairs pairs(texts);
  pairs.config.batch_size = 1;
  auto input = pairs.input(Phase::training);
  CHECK(input.batches_per_epoch() == 4 + 2 + 1);  // the last window of a to z is yz
  int next = 0, other = 0;
  std::set<std::size_t> lengths;
  std::set<char> drawn;
  for (int pass = 0; pass < 100; ++pass) {
    for (int row = 0; row < 7; ++row) {
      const Seen seen = rows(*input.get_next()).front();
      REQUIRE_FALSE(seen.first.empty());
      REQUIRE_FALSE(seen.second.empty());
      const std::size_t own = row < 4 ? 0 : row < 6 ? 1 : 2;
      const bool follows = texts[own].find(seen.first + seen.second) != std::string::npos;
      if (seen.label == 0) {
        ++next;
        CHECK(follows);
        if (row == 0) CHECK(seen.first + seen.second == "abcdefgh");
      } else {
        ++other;
        CHECK_FALSE(follows);
        CHECK(texts[own].find(seen.second) == std::string::npos);
        drawn.insert(seen.second[0]);
      }
      if (row == 0) lengths.insert(seen.first.size());
    }
  }
  // Binomial: 700 / 2 with a standard deviation of 13.
  CHECK(std::abs(next - 350) < 60);
  CHECK(next + other == 700);
  CHECK(lengths == std::set<std::size_t>{1, 2, 3, 4, 5, 6, 7});
  CHECK(drawn.contains('Z'));  // one token makes no row, but a second sentence
  CHECK(drawn.size() > 20);
}

TEST_CASE("the last window of one token begins one token earlier", "[data-masked]") {
  Pairs pairs({"abcdefghi", "0123"});
  auto input = pairs.input();
  const std::vector<Seen> first = rows(*input.get_next()), second = rows(*input.get_next());
  CHECK(first[0].first.starts_with('a'));
  CHECK(first[1].first == "h");
  if (first[1].label == 0) CHECK(first[1].second == "i");
  CHECK(second[0].first.starts_with('0'));
}

TEST_CASE("pairs differ per epoch, and are equal after a resume and on two hosts",
          "[data-masked]") {
  Pairs pairs({"the quick brown fox jumps", "0123456789012345", "over the lazy dog"});
  pairs.config.batch_size = 4;
  pairs.config.shuffle = true;
  const auto text = [](const Batch& batch) {
    std::string all;
    for (const Seen& row : rows(batch)) {
      all += row.first + "|" + row.second + (row.label == 0 ? "+" : "-");
    }
    return all;
  };
  auto input = pairs.input(Phase::training);
  std::vector<std::string> batches;
  for (int i = 0; i < 8; ++i) batches.push_back(text(*input.get_next()));
  CHECK(std::set<std::string>(batches.begin(), batches.end()).size() > 6);
  auto other = pairs.input(Phase::training);
  for (int i = 0; i < 3; ++i) other.get_next();
  auto resumed = pairs.input(Phase::training);
  resumed.restore_state(other.save_state());
  CHECK(text(*resumed.get_next()) == batches[3]);

  pairs.config.batch_size = 2;
  pairs.config.num_infeed_hosts = 2;
  std::string both;
  for (const int host : {0, 1}) {
    pairs.config.infeed_host_index = host;
    auto part = pairs.input(Phase::training);
    both += text(*part.get_next());
  }
  CHECK(both == batches[0]);
  pairs.config.seed = 7;
  pairs.config.infeed_host_index = 0;
  CHECK(text(*pairs.input(Phase::training).get_next()) != batches[0].substr(0, both.size() / 2));
}

TEST_CASE("next_sentence reports what makes no pairs", "[data-masked]") {
  CHECK_THAT(Pairs({"abcdef"}).complaint(),
             Contains("next_sentence: needs two documents with tokens, and there are 1"));
  CHECK_THAT(Pairs({"a", "b"}).complaint(), Contains("no document is long enough to make a row"));
  Pairs narrow({"abc", "def"});
  narrow.config.seq_len = 4;
  CHECK_THAT(narrow.complaint(), Contains("seq_len: is 4, which leaves no room for two sentences"));
  narrow.config.seq_len = 5;
  CHECK(narrow.complaint().empty());
  narrow.config.eos_id = 9999;
  CHECK_THAT(narrow.complaint(), Contains("eos_id: is 9999"));

  Pairs packed({"abc", "def"});
  check_round_trip(packed.config);
  packed.config.pack = true;
  Diagnostics diagnostics;
  packed.config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list()[0].path == "next_sentence");
}

}  // namespace next_sentence_rows_test
