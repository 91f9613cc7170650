// SPDX-License-Identifier: Apache-2.0
// Orders of the tokens to predict: their numbers, their shares, and data/MaskedLanguageModel with
// them.
#include "data/sequences/permuted_rows.h"

#include <cmath>
#include <map>
#include <set>

#include <catch2/catch.hpp>

#include "data/sequences/masked_language_model_input.h"
#include "plugins/config_round_trip.h"
#include "plugins/data/jsonl.h"
#include "plugins/data/sequences.h"

namespace permuted_rows_test {
namespace {

using namespace trivet;
using namespace trivet::test;
using Catch::Contains;
using data::PermutationRules;
using Numbers = std::vector<std::int32_t>;

// Rows whose tokens to predict are given.
class ChosenTokens final : public data::SequenceDataset {
 public:
  explicit ChosenTokens(std::vector<float> weights) : weights_(std::move(weights)) {}
  std::int64_t rows() const override { return 100; }
  Batch batch(std::span<const Row> rows) override {
    std::vector<float> all;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      all.insert(all.end(), weights_.begin(), weights_.end());
    }
    Tensor weights = Tensor::host({std::ssize(rows), std::ssize(weights_)}, DType::f32);
    std::ranges::copy(all, weights.mutable_span<float>().begin());
    return {{"weights", weights}};
  }
  std::string fingerprint() const override { return "chosen"; }

 private:
  std::vector<float> weights_;
};

// The numbers of one row.
Numbers order(const std::vector<float>& weights, const std::optional<PermutationRules>& rules,
              std::int64_t row = 0, std::int64_t epoch = 0) {
  data::PermutedRows rows(std::make_unique<ChosenTokens>(weights), rules);
  const data::SequenceDataset::Row one[] = {{.row = row, .epoch = epoch}};
  return rows.batch(one).at("permutation").to_host<std::int32_t>();
}

struct Permuted {
  explicit Permuted(const std::string& text) {
    config.source = jsonl_source(dir, "{\"text\": \"" + text + "\"}\n");
    config.tokenizer = letters();
    config.seq_len = 16;
    config.batch_size = 2;
    config.mask_id = 4;
    config.permutation.enabled = true;
  }
  data::MaskedLanguageModelInput input(Phase phase = Phase::evaluation) const {
    InputContext context{.phase = phase, .name = "task.train_input"};
    return {config, context};
  }
  std::string problem() const {
    Diagnostics diagnostics;
    config.validate(diagnostics);
    config.permutation.validate(diagnostics);
    return diagnostics.list().empty()
               ? ""
               : diagnostics.list()[0].path + " " + diagnostics.list()[0].what;
  }
  TempDir dir;
  data::MaskedLanguageModelConfig config;
};

Numbers permutation_of(const Batch& batch) {
  return batch.at("permutation").to_host<std::int32_t>();
}

}  // namespace

TEST_CASE("tokens to predict have the numbers of one permutation in each part of a row",
          "[data-masked]") {
  const std::vector<float> all(12, 1);
  std::set<Numbers> orders;
  for (std::int64_t row = 0; row < 20; ++row) {
    const Numbers numbers = order(all, PermutationRules{.size = 4}, row);
    INFO(row);
    CHECK(std::set(numbers.begin(), numbers.begin() + 4) == std::set{0, 1, 2, 3});
    for (std::size_t i = 4; i < 12; ++i) CHECK(numbers[i] == numbers[i - 4] + 4);
    const Numbers whole = order(all, PermutationRules{}, row);
    orders.insert(whole);
    CHECK(std::set(whole.begin(), whole.end()).size() == 12);
    CHECK(*std::ranges::max_element(whole) == 11);
    // The order of the chosen ones is that of the permutation of all.
    Numbers some = whole;
    some[0] = some[5] = some[11] = -2;
    CHECK(order({0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0}, PermutationRules{}, row) == some);
  }
  CHECK(orders.size() > 15);
}

TEST_CASE("each order of three tokens is as likely as another", "[data-masked]") {
  // 6000 / 6 = 1000 with a standard deviation of 29.
  std::map<Numbers, int> seen;
  for (std::int64_t epoch = 0; epoch < 6000; ++epoch) {
    ++seen[order({1, 1, 1}, PermutationRules{.seed = 3}, 7, epoch)];
  }
  CHECK(seen.size() == 6);
  for (const auto& [numbers, count] : seen) CHECK(std::abs(count - 1000) < 200);
}

TEST_CASE("a share of the tokens to predict is known to all", "[data-masked]") {
  // 10000 * 0.25 = 2500 with a standard deviation of 43.
  const Numbers numbers = order(std::vector<float>(10000, 1), PermutationRules{.leak_ratio = 0.25});
  CHECK(std::abs(std::ranges::count(numbers, -1) - 2500) < 250);
  CHECK(std::ranges::count(numbers, -2) == 0);
  const Numbers leaked = order({1, 0, 1}, PermutationRules{.leak_ratio = 1});
  CHECK(leaked == Numbers{-1, -2, -1});
  // Without rules no token to predict knows another.
  CHECK(order({1, 0, 1}, std::nullopt) == Numbers{0, -2, 0});
}

TEST_CASE("rows with a permutation keep their tokens", "[data-masked]") {
  Permuted permuted("abcdefghijklmnopq");
  permuted.config.mask_rate = 1;
  auto input = permuted.input();
  const Batch batch = *input.get_next();
  const SequenceRows rows = rows_of(batch);
  CHECK(rows.ids == rows.labels);
  CHECK(rows.ids[0] == "^abcdefghijklmno");
  CHECK(rows.weights == std::vector<std::string>{"0111111111111111", "1100000000000000"});
  const Numbers numbers = permutation_of(batch);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    CHECK((numbers[i] >= 0) == (i >= 1 && i < 18));
    if (i == 0 || i >= 18) CHECK(numbers[i] == -2);
  }
}

TEST_CASE("orders differ per epoch, and are equal after a resume and on two hosts",
          "[data-masked]") {
  Permuted permuted("the quick brown fox jumps over the lazy dog 0123456789");
  permuted.config.batch_size = 4;  // 56 positions: one batch is a pass
  permuted.config.mask_rate = 0.5;
  permuted.config.permutation.leak_ratio = 0.2;
  auto input = permuted.input(Phase::training);
  const Batch first = *input.get_next(), second = *input.get_next();
  CHECK(permutation_of(first) != permutation_of(second));
  auto resumed = permuted.input(Phase::training);
  resumed.restore_state([&] {
    auto other = permuted.input(Phase::training);
    other.get_next();
    return other.save_state();
  }());
  const Batch again = *resumed.get_next();
  CHECK(permutation_of(again) == permutation_of(second));
  CHECK(fingerprint(again) == fingerprint(second));

  permuted.config.batch_size = 2;
  permuted.config.num_infeed_hosts = 2;
  permuted.config.infeed_host_index = 1;
  auto host = permuted.input(Phase::training);
  const Numbers whole = permutation_of(first), half = permutation_of(*host.get_next());
  CHECK(half == Numbers(whole.begin() + 32, whole.end()));
  permuted.config.seed = 7;
  CHECK(permutation_of(*permuted.input(Phase::training).get_next()) != half);
}

TEST_CASE("the config of a permutation survives the way to a file, and its rules hold",
          "[data-masked]") {
  Permuted permuted("abc");
  permuted.config.permutation.size = 8;
  permuted.config.permutation.leak_ratio = 0.1;
  check_round_trip(permuted.config);
  CHECK(permuted.problem() == "");
  permuted.config.permutation.size = 5;
  CHECK(permuted.problem() == "permutation.size is 5, which does not divide seq_len = 16");
  permuted.config.permutation.size = 0;
  permuted.config.random_share = 0.1;
  CHECK_THAT(permuted.problem(), Contains("random_share is not used"));
  permuted.config.random_share.reset();
  permuted.config.mask_share = 0.8;
  CHECK_THAT(permuted.problem(), Contains("mask_share is not used"));
  permuted.config.mask_share.reset();
  permuted.config.permutation.enabled = false;
  CHECK_THAT(permuted.problem(), Contains("leak_ratio is not used"));
}

}  // namespace permuted_rows_test
