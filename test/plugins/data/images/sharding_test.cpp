// SPDX-License-Identifier: Apache-2.0
// Inputs for language models on several hosts: together they produce the steps of one host, also
// after a resume with another number of hosts. Evaluation counts every row once.
#include <map>

#include <catch2/catch.hpp>

#include "plugins/data/sequences.h"
#include "support/property.h"

using namespace trivet;
using namespace trivet::test;
using Texts = std::vector<std::string>;

namespace {

constexpr std::int64_t kGlobalBatch = 8;

// The rows of one global step, host after host, each with its weights.
using Step = Texts;

// The inputs of `hosts` hosts that share a global batch.
class Hosts {
 public:
  Hosts(data::TextConfig config, std::int64_t hosts, Phase phase) {
    config.num_infeed_hosts = hosts;
    config.batch_size = kGlobalBatch / hosts;
    for (config.infeed_host_index = 0; config.infeed_host_index < hosts;
         ++config.infeed_host_index) {
      InputContext context{.phase = phase};
      inputs_.push_back(std::make_unique<data::TextFilesInput>(config, context));
    }
  }

  // Empty at the end, which all hosts reach together.
  Step next() {
    Step step;
    std::size_t ended = 0;
    for (const auto& input : inputs_) {
      const auto batch = input->get_next();
      if (!batch) {
        ++ended;
        continue;
      }
      const SequenceRows rows = rows_of(*batch);
      const auto weight = batch->at("weight").to_host<float>();
      for (std::size_t i = 0; i < weight.size(); ++i) {
        step.push_back(rows.ids[i] + rows.labels[i] + rows.segment_ids[i] + rows.weights[i] +
                       (weight[i] == 1 ? "+" : "-"));
      }
    }
    CHECK((ended == 0 || ended == inputs_.size()));
    return step;
  }
  std::vector<Step> take(int steps) {
    std::vector<Step> taken;
    for (int i = 0; i < steps; ++i) taken.push_back(next());
    return taken;
  }
  // All hosts are at the same position.
  Value position() const {
    const Value first = inputs_[0]->save_state();
    for (const auto& input : inputs_) CHECK(input->save_state() == first);
    return first;
  }
  void go_to(const Value& position) {
    for (const auto& input : inputs_) input->restore_state(position);
  }

 private:
  std::vector<std::unique_ptr<data::TextFilesInput>> inputs_;
};

// Texts of which no two rows are equal.
TextFolder folder_of(int documents) {
  Texts texts;
  for (int i = 0; i < documents; ++i) {
    std::string text;
    for (int j = 0; j < 7 + i % 13; ++j) text += std::to_string(100 + 17 * i + j);
    texts.push_back(text);
  }
  return TextFolder(texts);
}

}  // namespace

TEST_CASE("1, 2, 4 and 8 hosts produce the same global steps", "[data-sharding]") {
  for (const bool shuffle : {false, true}) {
    for (const bool pack : {false, true}) {
      const TextFolder folder = folder_of(9);
      data::TextConfig config = folder.config;
      config.shuffle = shuffle;
      config.pack = pack;
      config.seed = 5;
      Hosts one(config, 1, Phase::training);
      const std::vector<Step> expected = one.take(20);
      CHECK(expected[0] != expected[1]);
      for (const std::int64_t hosts : {2, 4, 8}) {
        INFO(hosts << " hosts, shuffle " << shuffle << ", pack " << pack);
        Hosts several(config, hosts, Phase::training);
        CHECK(several.take(20) == expected);
      }
    }
  }
}

TEST_CASE("a run continues where it was with another number of hosts", "[data-sharding]") {
  const TextFolder folder = folder_of(9);
  check_property([&](std::uint8_t before, std::uint8_t first, std::uint8_t then, bool shuffle) {
    data::TextConfig config = folder.config;
    config.shuffle = shuffle;
    const int steps = before % 23;
    Hosts straight(config, 1, Phase::training),
        stopped(config, std::int64_t{1} << first % 4, Phase::training);
    const std::vector<Step> all = straight.take(steps + 6);
    stopped.take(steps);
    Hosts resumed(config, std::int64_t{1} << then % 4, Phase::training);
    resumed.go_to(stopped.position());
    RC_ASSERT(resumed.take(6) == std::vector<Step>(all.begin() + steps, all.end()));
  });
}

TEST_CASE("evaluation counts every row once, on any number of hosts", "[data-sharding]") {
  for (const int documents : {1, 3, 9}) {
    const TextFolder folder = folder_of(documents);
    std::map<std::int64_t, std::multimap<std::string, int>> seen;
    std::map<std::int64_t, std::string> labels;
    for (const std::int64_t hosts : {1, 2, 4, 8}) {
      Hosts evaluation(folder.config, hosts, Phase::evaluation);
      std::map<std::string, int> counted;
      for (Step step = evaluation.next(); !step.empty(); step = evaluation.next()) {
        CHECK(step.size() == kGlobalBatch);
        for (const std::string& row : step) {
          if (row.back() == '+') ++counted[row];
          // A row that only fills the batch has no weight anywhere.
          if (row.back() == '-') CHECK(row.substr(row.size() - 9, 8) == "00000000");
        }
      }
      for (const auto& [row, times] : counted) {
        INFO(row);
        CHECK(times == 1);
        labels[hosts] += row;
      }
      CHECK(labels[hosts] == labels[1]);
    }
  }
}
