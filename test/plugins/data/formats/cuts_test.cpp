// SPDX-License-Identifier: Apache-2.0
// How rows are cut from documents: overlapping windows, and random offsets per epoch. Expected rows
// are computed by hand.
#include <map>
#include <set>

#include <catch2/catch.hpp>

#include "plugins/config_round_trip.h"
#include "plugins/data/sequences.h"
#include "support/property.h"

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using Texts = std::vector<std::string>;

namespace {

// The only problem of a config: path and text.
std::string config_complaint(const data::TextConfig& config) {
  Diagnostics diagnostics;
  config.validate(diagnostics);
  REQUIRE(diagnostics.list().size() == 1);
  return diagnostics.list()[0].path + " " + diagnostics.list()[0].what;
}

}  // namespace

TEST_CASE("overlapping windows reread positions that do not count again", "[data-text]") {
  TextFolder folder({"abcdefghijklmno", "kl", "abcdefg"});
  folder.config.pack = false;
  folder.config.overlap = 3;
  folder.config.batch_size = 5;
  auto input = folder.input();
  const SequenceRows rows = all_rows(input);
  CHECK(rows.labels == Texts{"abcdefgh", "fghijklm", "klmno$..", "kl$.....", "abcdefg$"});
  CHECK(rows.weights == Texts{"11111111", "00011111", "00011100", "11100000", "11111111"});
  CHECK(rows.ids == Texts{"^abcdefg", "efghijkl", "jklmno..", "^kl.....", "^abcdefg"});
  CHECK(rows.paddings == Texts{"00000000", "00000000", "00000011", "00011111", "00000000"});
}

TEST_CASE("every label counts once for any overlap", "[data-text]") {
  check_property(
      [](const std::vector<std::string>& texts, std::uint8_t length, std::uint8_t repeated) {
        TextFolder folder({});
        std::string all;
        for (std::size_t i = 0; i < texts.size(); ++i) {
          folder.folder().write(std::to_string(1000 + i) + ".txt", texts[i]);
          if (!texts[i].empty()) all += texts[i] + "$";
        }
        if (all.empty()) return;
        folder.config.encoding = data::Encoding::bytes;
        folder.config.seq_len = 1 + length % 20;
        folder.config.overlap = repeated % folder.config.seq_len;
        folder.config.pack = false;
        folder.config.batch_size = 3;
        auto input = folder.input();
        std::string counted;
        while (const auto batch = input.get_next()) {
          const auto labels = batch->at("labels").to_host<std::int32_t>();
          const auto weights = batch->at("weights").to_host<float>();
          const auto locations = batch->at("segment_pos").to_host<std::int32_t>();
          const auto ids = batch->at("ids").to_host<std::int32_t>();
          bool starts = false;
          for (std::size_t i = 0; i < labels.size(); ++i) {
            if (locations[i] == 0) starts = ids[i] == 1;
            if (weights[i] == 0) continue;
            // A label of a later window has at least `overlap` tokens before the one that it
            // follows.
            if (!starts) RC_ASSERT(locations[i] >= folder.config.overlap);
            counted += labels[i] == 2 ? '$' : static_cast<char>(labels[i] - 10);
          }
        }
        RC_ASSERT(counted == all);
      });
}

TEST_CASE("with random offsets each pass cuts elsewhere and has every label once", "[data-text]") {
  TextFolder folder({"abcdefghijklm", "", "ABCDEFGHIJKLMNOPQRSTU"});
  folder.config.random_offsets = true;
  folder.config.batch_size = 5;
  auto input = folder.input(Phase::training);
  REQUIRE(input.batches_per_epoch() == 1);
  std::set<std::string> cuts;
  for (int pass = 0; pass < 20; ++pass) {
    const SequenceRows rows = rows_of(*input.get_next());
    std::map<char, int> seen;
    std::string starts;
    for (std::size_t row = 0; row < rows.labels.size(); ++row) {
      starts += rows.labels[row][0];
      for (std::size_t i = 0; i < rows.labels[row].size(); ++i) {
        if (rows.weights[row][i] == '0') continue;
        ++seen[rows.labels[row][i]];
        // Of one segment, ids follow each other.
        if (i > 0 && rows.segment_ids[row][i] == rows.segment_ids[row][i - 1]) {
          CHECK(rows.ids[row][i] == rows.labels[row][i - 1]);
        }
      }
    }
    CHECK(seen.size() == 13 + 21 + 1);
    for (const auto& [label, times] : seen) CHECK(times == (label == '$' ? 2 : 1));
    if (pass == 0) CHECK(starts == "aiCKS");
    cuts.insert(starts);
  }
  CHECK(cuts.size() > 12);
}

TEST_CASE("random offsets depend on the seed, not on hosts or a resume", "[data-text]") {
  std::string text;
  for (int i = 100; i < 180; ++i) text += std::to_string(i);
  TextFolder folder({text});
  folder.config.random_offsets = true;
  folder.config.shuffle = true;
  folder.config.batch_size = 6;
  auto one = folder.input(Phase::training);
  Value location;
  Texts expected;
  for (int i = 0; i < 30; ++i) {
    if (i == 17) location = one.save_state();
    for (const std::string& row : rows_of(*one.get_next()).labels) expected.push_back(row);
  }
  folder.config.batch_size = 3;
  folder.config.num_infeed_hosts = 2;
  auto first = folder.input(Phase::training);
  folder.config.infeed_host_index = 1;
  auto second = folder.input(Phase::training);
  first.restore_state(location);
  second.restore_state(location);
  Texts got;
  for (int i = 17; i < 30; ++i) {
    for (Input* input : std::initializer_list<Input*>{&first, &second}) {
      for (const std::string& row : rows_of(*input->get_next()).labels) got.push_back(row);
    }
  }
  CHECK(got == Texts(expected.begin() + 17 * 6, expected.end()));

  folder.config.seed = 1;
  CHECK_THAT(input_error([&] { folder.input(Phase::training).restore_state(location); }),
             Contains("the state was saved with different text"));
}

TEST_CASE("overlaps and random offsets without effect are refused", "[data-text]") {
  data::TextConfig config;
  config.batch_size = 1;
  config.seq_len = 8;
  config.files = {"a.txt"};
  config.pack = false;
  config.overlap = 7;
  check_round_trip(config);
  config.overlap = 8;
  CHECK(config_complaint(config) == "overlap leaves no new positions in a window");
  config.overlap = 1;
  config.pack = true;
  CHECK(config_complaint(config) == "overlap applies only to windows of one document per row");
  config.overlap = 0;
  config.random_offsets = true;
  check_round_trip(config);
  config.long_documents = data::LongDocuments::trim;
  CHECK(config_complaint(config) ==
        "random_offsets applies only to rows that are cut from all documents");
}
