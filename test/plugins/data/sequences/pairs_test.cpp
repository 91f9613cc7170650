// SPDX-License-Identifier: Apache-2.0
// data/SequenceToSequence. Expected rows are computed by hand; sequences.h describes their
// notation.
#include <catch2/catch.hpp>

#include "data/sequences/sequence_to_sequence_input.h"
#include "plugins/config_round_trip.h"
#include "plugins/data/jsonl.h"
#include "plugins/data/sequences.h"
#include "support/property.h"
#include "trivet/extensions/text.h"

namespace data_pairs_test {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Texts = std::vector<std::string>;

namespace {

struct Pairs {
  explicit Pairs(const std::string& lines) {
    config.source = jsonl_source(dir, lines);
    config.tokenizer = letters();
    config.inputs = "{q}";
    config.targets = "{a}";
    config.inputs_len = 6;
    config.targets_len = 8;
    config.batch_size = 2;
  }
  data::SequenceToSequenceInput input(Phase phase = Phase::evaluation) const {
    InputContext context{.phase = phase, .name = "task.train_input"};
    return {config, context};
  }
  std::string complaint() const { return test::complaint<data::SequenceToSequenceInput>(config); }
  TempDir dir;
  data::SequenceToSequenceConfig config;
};

std::string pair(const std::string& q, const std::string& a) {
  return "{\"q\": \"" + q + "\", \"a\": \"" + a + "\"}\n";
}

}  // namespace

TEST_CASE("pairs are packed while both sides fit, and their segments belong together",
          "[data-pairs]") {
  // Positions (with EOS): 3+3, 2+3; then 2+4 does not fit the targets: 3+3+4 > 8.
  Pairs pairs(pair("ab", "AB") + pair("c", "CD") + pair("e", "EFG") + pair("hijk", "H"));
  auto input = pairs.input();
  const Batch batch = *input.get_next();
  const SequenceRows source = rows_of(batch.child("src")), target = rows_of(batch.child("tgt"));
  // e and hijk are 2 + 5 positions, more than 6: the third row is in the next batch.
  CHECK(source.ids == Texts{"ab$c$.", "e$...."});
  CHECK(source.segment_ids == Texts{"111220", "110000"});
  CHECK(source.segment_pos == Texts{"012010", "010000"});
  CHECK(source.paddings == Texts{"000001", "001111"});
  CHECK(source.labels.empty());
  CHECK(target.ids == Texts{"^AB^CD..", "^EFG...."});
  CHECK(target.labels == Texts{"AB$CD$..", "EFG$...."});
  CHECK(target.segment_ids == Texts{"11122200", "11110000"});
  CHECK(target.weights == Texts{"11111100", "11110000"});
  CHECK(target.label_bytes == Texts{"11011000", "11100000"});
  const Batch last = *input.get_next();
  CHECK(rows_of(last.child("src")).ids[0] == "hijk$.");
  CHECK(rows_of(last.child("tgt")).weights == Texts{"11000000", "00000000"});
  CHECK(last.at("weight").to_host<float>() == std::vector<float>{1, 0});
  CHECK_FALSE(input.get_next().has_value());
}

TEST_CASE("the plugin offers data/SequenceToSequence", "[data-pairs]") {
  const Pairs pairs(pair("ab", "c"));
  InputContext context{.phase = Phase::evaluation};
  const auto made = make(ConfigOf<Input>("data/SequenceToSequence", encode(pairs.config)), context);
  auto expected = pairs.input();
  CHECK(fingerprint(*made->get_next()) == fingerprint(*expected.get_next()));
}

TEST_CASE("long sides of a pair are cut, and keep their EOS", "[data-pairs]") {
  Pairs pairs(pair("abcdefghij", "K") + pair("k", "ABCDEFGHIJK") + pair("", "x") + pair("x", ""));
  pairs.config.pack = false;
  auto input = pairs.input();
  const Batch batch = *input.get_next();
  CHECK(rows_of(batch.child("src")).ids == Texts{"abcde$", "k$...."});
  CHECK(rows_of(batch.child("tgt")).labels == Texts{"K$......", "ABCDEFG$"});
  // Pairs with an empty side are dropped.
  CHECK_FALSE(input.get_next().has_value());
}

TEST_CASE("packing keeps all pairs complete and in order", "[data-pairs]") {
  check_property([](const std::vector<std::pair<std::uint8_t, std::uint8_t>>& sizes) {
    std::string lines;
    Texts expected;
    for (const auto& [q, a] : sizes) {
      const std::string question(1 + q % 5, 'q'), answer(1 + a % 7, 'a');
      lines += pair(question, answer);
      expected.push_back(question + "$" + answer + "$");
    }
    if (lines.empty()) return;
    const Pairs pairs(lines);
    auto input = pairs.input();
    Texts seen;
    while (const auto batch = input.get_next()) {
      const SequenceRows source = rows_of(batch->child("src")),
                         target = rows_of(batch->child("tgt"));
      const auto weight = batch->at("weight").to_host<float>();
      for (std::size_t row = 0; row < weight.size(); ++row) {
        if (weight[row] == 0) continue;
        for (char segment = '1'; target.segment_ids[row].find(segment) != std::string::npos;
             ++segment) {
          std::string text;
          for (std::size_t i = 0; i < 6; ++i) {
            if (source.segment_ids[row][i] == segment) text += source.ids[row][i];
          }
          for (std::size_t i = 0; i < 8; ++i) {
            if (target.segment_ids[row][i] == segment) text += target.labels[row][i];
          }
          seen.push_back(text);
        }
      }
    }
    RC_ASSERT(seen == expected);
  });
}

TEST_CASE("pairs come again from a saved position, and not from other pairs", "[data-pairs]") {
  std::string lines;
  for (char c = 'a'; c <= 'z'; ++c) lines += pair(std::string(3, c), std::string(2, c));
  Pairs pairs(lines);
  pairs.config.shuffle = true;
  auto input = pairs.input(Phase::training);
  for (int i = 0; i < 9; ++i) input.get_next();
  const Value position = input.save_state();
  auto resumed = pairs.input(Phase::training);
  resumed.restore_state(position);
  for (int i = 0; i < 9; ++i) {
    CHECK(fingerprint(*resumed.get_next()) == fingerprint(*input.get_next()));
  }
  pairs.config.inputs_len = 7;
  CHECK_THAT(input_error([&] { pairs.input(Phase::training).restore_state(position); }),
             Contains("saved with different text"));
}

TEST_CASE("pairs have two tokenizers, or one for both, and need a BOS", "[data-pairs]") {
  Pairs pairs(pair("ab", "c"));
  using Side = TextInput::Side;
  {
    const auto input = pairs.input();
    const TextInput* text = text_input(input);
    CHECK(text->tokenizer(Side::source) == text->tokenizer(Side::target));
    CHECK(text->tokenizer(Side::only) == nullptr);
    CHECK(text->vocabulary_size(Side::target) == 266);
    REQUIRE(text->texts().size() == 2);
    CHECK(text->texts()[0].ids == "src/ids");
    CHECK(text->texts()[1].ids == "tgt/labels");
  }
  pairs.config.target_tokenizer = letters(false);
  CHECK_THAT(pairs.complaint(), Contains("task.train_input.bos_id") && Contains("no such token"));
  pairs.config.bos_id = 3;
  auto input = pairs.input();
  CHECK(text_input(input)->tokenizer(Side::source) != text_input(input)->tokenizer(Side::target));
  const Batch batch = *input.get_next();
  CHECK(batch.at("tgt/ids").to_host<std::int32_t>()[0] == 3);
  CHECK(rows_of(batch.child("tgt")).labels[0] == "c.......");
}

TEST_CASE("the config of data/SequenceToSequence survives the way to a file, and its rules hold",
          "[data-pairs]") {
  Pairs pairs(pair("a", "b"));
  pairs.config.target_tokenizer = letters(false);
  pairs.config.bos_id = 5;
  pairs.config.add_eos = false;
  pairs.config.pack = false;
  pairs.config.limit = 77;
  check_round_trip(pairs.config);
  pairs.config.inputs = "{";
  Diagnostics diagnostics;
  pairs.config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 1);
  CHECK(diagnostics.list()[0].path == "inputs");
}

}  // namespace data_pairs_test
