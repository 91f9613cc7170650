// SPDX-License-Identifier: Apache-2.0
// data/MaskedLanguageModel: the choice of tokens to predict, and their replacements.
#include <cmath>

#include <catch2/catch.hpp>

#include "data/sequences/masked_language_model_input.h"
#include "plugins/config_round_trip.h"
#include "plugins/data/jsonl.h"
#include "plugins/data/sequences.h"

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;

namespace {

constexpr std::int32_t kMask = 4;

struct Masked {
  explicit Masked(const std::string& text) {
    config.source = jsonl_source(dir, "{\"text\": \"" + text + "\"}\n");
    config.tokenizer = letters();
    config.seq_len = 16;
    config.batch_size = 2;
    config.mask_id = kMask;
  }
  data::MaskedLanguageModelInput input(Phase phase = Phase::evaluation) const {
    InputContext context{.phase = phase, .name = "task.train_input"};
    return {config, context};
  }
  std::string complaint() const { return test::complaint<data::MaskedLanguageModelInput>(config); }
  TempDir dir;
  data::MaskedLanguageModelConfig config;
};

struct Counts {
  int tokens = 0, chosen = 0, masked = 0, same = 0, other = 0;
};

Counts counts(Input& input) {
  Counts counts;
  while (const auto batch = input.get_next()) {
    const auto ids = batch->at("ids").to_host<std::int32_t>();
    const auto labels = batch->at("labels").to_host<std::int32_t>();
    const auto weights = batch->at("weights").to_host<float>();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (labels[i] >= 10) ++counts.tokens;
      if (weights[i] == 0) {
        CHECK(ids[i] == labels[i]);
        continue;
      }
      CHECK(labels[i] >= 10);  // neither BOS nor EOS nor padding is chosen
      ++counts.chosen;
      if (ids[i] == kMask) {
        ++counts.masked;
      } else if (ids[i] == labels[i]) {
        ++counts.same;
      } else {
        ++counts.other;
      }
    }
  }
  return counts;
}

}  // namespace

TEST_CASE("labels of masked rows are at the positions of their tokens", "[data-masked]") {
  Masked masked("abcdefghijklmnopq");
  masked.config.mask_rate = 1;
  masked.config.mask_share = 1;
  masked.config.random_share = 0;
  auto input = masked.input();
  const Batch batch = *input.get_next();
  const SequenceRows rows = rows_of(batch);
  CHECK(rows.labels == std::vector<std::string>{"^abcdefghijklmno", "pq$............."});
  CHECK(rows.weights == std::vector<std::string>{"0111111111111111", "1100000000000000"});
  CHECK(rows.paddings[1] == "0001111111111111");
  const auto ids = batch.at("ids").to_host<std::int32_t>();
  CHECK(ids[0] == 1);
  for (std::size_t i = 1; i < 18; ++i) CHECK(ids[i] == kMask);
  CHECK(ids[18] == 2);
}

// Binomial: 20000 * 0.15 = 3000 with a standard deviation of 50; of 3000 chosen 300 with one of 16.
TEST_CASE("tokens are chosen and replaced in the configured shares", "[data-masked]") {
  Masked masked(std::string(20000, 'x'));
  masked.config.batch_size = 3;  // 20002 positions are 1251 rows: no batch is filled up
  auto input = masked.input();
  const Counts seen = counts(input);
  CHECK(seen.tokens == 20000);
  CHECK(std::abs(seen.chosen - 3000) < 200);
  CHECK(std::abs(seen.masked - 0.8 * seen.chosen) < 90);
  CHECK(std::abs(seen.other - 0.1 * seen.chosen) < 70);
  CHECK(std::abs(seen.same - 0.1 * seen.chosen) < 70);
}

TEST_CASE("masks differ per epoch, and are equal after a resume and on two hosts",
          "[data-masked]") {
  Masked masked("the quick brown fox jumps over the lazy dog 0123456789");
  masked.config.batch_size = 4;  // 56 positions: one batch is a pass
  masked.config.mask_rate = 0.5;
  auto input = masked.input(Phase::training);
  const Batch first = *input.get_next(), second = *input.get_next();
  CHECK(rows_of(first).labels == rows_of(second).labels);
  CHECK(rows_of(first).weights != rows_of(second).weights);
  auto resumed = masked.input(Phase::training);
  resumed.restore_state([&] {
    auto other = masked.input(Phase::training);
    other.get_next();
    return other.save_state();
  }());
  CHECK(fingerprint(*resumed.get_next()) == fingerprint(second));

  masked.config.batch_size = 2;
  masked.config.num_infeed_hosts = 2;
  masked.config.infeed_host_index = 1;
  auto host = masked.input(Phase::training);
  const SequenceRows whole = rows_of(first), half = rows_of(*host.get_next());
  CHECK(half.weights[0] == whole.weights[2]);
  CHECK(half.ids[1] == whole.ids[3]);
  masked.config.seed = 7;
  CHECK(rows_of(*masked.input(Phase::training).get_next()).weights != half.weights);
}

TEST_CASE("the plugin offers data/MaskedLanguageModel", "[data-masked]") {
  const Masked masked("abcdefghijkl");
  InputContext context{.phase = Phase::evaluation};
  const auto made =
      make(ConfigOf<Input>("data/MaskedLanguageModel", encode(masked.config)), context);
  auto expected = masked.input();
  CHECK(fingerprint(*made->get_next()) == fingerprint(*expected.get_next()));
}

TEST_CASE("mask_id must be a token", "[data-masked]") {
  Masked masked("abc");
  masked.config.mask_id = 266;
  CHECK_THAT(masked.complaint(), Contains("mask_id: is 266, but the largest id is 265"));
  masked.config.mask_id.reset();
  CHECK_THAT(masked.complaint(), Contains("no token [MASK] or <mask>"));
}

TEST_CASE("the config of data/MaskedLanguageModel survives the way to a file, and its rules hold",
          "[data-masked]") {
  Masked masked("abc");
  masked.config.mask_rate = 0.3;
  masked.config.mask_share = 0.5;
  masked.config.random_share = 0.25;
  masked.config.targets = "a {text}";
  check_round_trip(masked.config);
  masked.config.random_share = 0.6;
  Diagnostics diagnostics;
  masked.config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list()[0].path == "random_share");
}
