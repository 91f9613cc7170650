// SPDX-License-Identifier: Apache-2.0
// Decoding apart from any model: choosing tokens, continuing rows of different lengths, and beam
// search against an exhaustive one.
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <catch2/catch.hpp>

#include "lm/beam_search.h"
#include "lm/sample_decode.h"
#include "lm/token_sampler.h"
#include "trivet/error.h"

namespace {

using namespace trivet;
using namespace trivet::lm;
using Tokens = std::vector<std::int32_t>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Logits that are a function of the whole sequence so far, so that a wrong history is seen.
class FakeModel final : public StepModel {
 public:
  FakeModel(std::int64_t vocabulary, std::size_t rows) : vocabulary_(vocabulary), rows_(rows) {}

  std::int64_t vocabulary_size() const override { return vocabulary_; }

  std::vector<float> extend(std::span<const std::int32_t> ids, std::int64_t count) override {
    REQUIRE(ids.size() == rows_.size() * static_cast<std::size_t>(count));
    std::vector<float> all;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const auto of_row =
          ids.subspan(row * static_cast<std::size_t>(count), static_cast<std::size_t>(count));
      rows_[row].insert(rows_[row].end(), of_row.begin(), of_row.end());
      const std::vector<float> logits = logits_behind(rows_[row]);
      all.insert(all.end(), logits.begin(), logits.end());
    }
    longest_ = std::max(longest_, std::ssize(rows_[0]));
    return all;
  }

  void reorder(std::span<const std::int32_t> rows) override {
    std::vector<Tokens> reordered;
    for (const std::int32_t row : rows)
      reordered.push_back(rows_.at(static_cast<std::size_t>(row)));
    rows_ = std::move(reordered);
  }

  std::vector<float> logits_behind(const Tokens& sequence) const {
    Key key(7);
    for (const std::int32_t id : sequence) key = key.fold(static_cast<std::uint64_t>(id));
    std::vector<float> logits(static_cast<std::size_t>(vocabulary_));
    random_uniform(key, -2, 2, logits);
    return logits;
  }

  std::ptrdiff_t longest() const { return longest_; }

 private:
  std::int64_t vocabulary_;
  std::vector<Tokens> rows_;
  std::ptrdiff_t longest_ = 0;
};

Tokens ids_of(const DecodedRow& row) {
  return row.ids;
}

DecodeConfig greedy(std::int64_t steps) {
  DecodeConfig config;
  config.temperature = 0;
  config.max_decode_steps = steps;
  return config;
}

std::vector<DecodedRow> decode(const std::vector<Tokens>& prompts, const DecodeConfig& config,
                               const DecodeLimits& limits = {}) {
  FakeModel model(11, prompts.size());
  const std::vector<Key> keys(prompts.size(), Key(3));
  return sample_decode(model, prompts, config, limits, keys);
}

TEST_CASE("choose_token takes the largest logit at temperature 0, of equal ones the first",
          "[lm]") {
  DecodeConfig config;
  config.temperature = 0;
  CHECK(choose_token(std::vector<float>{0, 3, 1, 3}, config, Key(1)) == 1);
  CHECK(choose_token(std::vector<float>{-kInfinity, -kInfinity}, config, Key(1)) == 0);
  CHECK(choose_token(std::vector<float>{NAN, -5}, config, Key(1)) == 1);
  CHECK_THROWS_AS(choose_token(std::vector<float>{NAN, NAN}, config, Key(1)), Error);
}

// Which tokens come up in many draws, and how often.
std::map<std::int32_t, int> draws(std::span<const float> logits, const DecodeConfig& config,
                                  int count) {
  std::map<std::int32_t, int> counts;
  for (int i = 0; i < count; ++i) {
    ++counts[choose_token(logits, config, Key(5).fold(static_cast<std::uint64_t>(i)))];
  }
  return counts;
}

TEST_CASE("choose_token draws by softmax(logits / temperature)", "[lm]") {
  const std::vector<float> logits = {0, 1, -1, 0.5F, -kInfinity};
  DecodeConfig config;
  config.k = 0;
  for (const double temperature : {0.5, 1.0, 2.0}) {
    config.temperature = temperature;
    double sum = 0;
    for (int id = 0; id < 4; ++id)
      sum += std::exp(double{logits[static_cast<std::size_t>(id)]} / temperature);
    constexpr int kDraws = 20000;
    auto counts = draws(logits, config, kDraws);
    CHECK(counts[4] == 0);
    for (int id = 0; id < 4; ++id) {
      const double p = std::exp(double{logits[static_cast<std::size_t>(id)]} / temperature) / sum;
      // Five standard deviations.
      CHECK(counts[id] / double{kDraws} == Approx(p).margin(5 * std::sqrt(p * (1 - p) / kDraws)));
    }
  }
}

TEST_CASE("top-k comes before top-p, and one token always remains", "[lm]") {
  // Probabilities 0.4, 0.3, 0.2, 0.1.
  const std::vector<float> logits = {std::log(0.4F), std::log(0.3F), std::log(0.2F),
                                     std::log(0.1F)};
  DecodeConfig config;
  const auto seen = [&] {
    std::set<std::int32_t> ids;
    for (const auto& [id, count] : draws(logits, config, 2000)) ids.insert(id);
    return ids;
  };
  config.k = 2;
  CHECK(seen() == std::set<std::int32_t>{0, 1});
  config.k = 0;
  config.p = 0.65;
  CHECK(seen() == std::set<std::int32_t>{0, 1});
  config.p = 0.75;
  CHECK(seen() == std::set<std::int32_t>{0, 1, 2});
  // Of the two largest alone the first has 0.57.
  config.k = 2;
  config.p = 0.5;
  CHECK(seen() == std::set<std::int32_t>{0});
  config.p = 1e-9;
  CHECK(seen() == std::set<std::int32_t>{0});
  // Equal logits at the edge: the lower id stays.
  const std::vector<float> equal = {1, 1, 1};
  config.p = 1;
  CHECK(draws(equal, config, 500).count(2) == 0);
}

TEST_CASE("log_probability is log softmax in float64", "[lm]") {
  const std::vector<float> logits = {1000, 1001, 999};
  // ln(1 / (1 + e + 1/e)) = -ln(4.0861612696...) = -1.4076059644443804
  CHECK(log_probability(logits, 0) == Approx(-1.4076059644443804).margin(1e-12));
  CHECK(log_probability(logits, 1) == Approx(-0.4076059644443804).margin(1e-12));
}

TEST_CASE("greedy decoding follows the largest logits of the whole history", "[lm]") {
  const Tokens prompt = {4, 2};
  const std::vector<DecodedRow> rows = decode({prompt}, greedy(6));
  REQUIRE(rows.size() == 1);
  FakeModel model(11, 1);
  Tokens sequence = prompt;
  for (std::size_t i = 0; i < 6; ++i) {
    const std::vector<float> logits = model.logits_behind(sequence);
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    CHECK(rows[0].ids.at(i) == best);
    CHECK(rows[0].log_probs.at(i) ==
          Approx(log_probability(logits, static_cast<std::int32_t>(best))).margin(1e-12));
    sequence.push_back(static_cast<std::int32_t>(best));
  }
  CHECK_FALSE(rows[0].ended);
}

TEST_CASE("a batch of prompts of different lengths gives what each gives alone", "[lm]") {
  const std::vector<Tokens> prompts = {{1}, {3, 3, 3, 3, 3, 3, 3}, {2, 9}, {5, 1, 0}};
  DecodeConfig config;
  config.max_decode_steps = 9;
  config.k = 5;
  const std::vector<DecodedRow> together = decode(prompts, config);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::vector<DecodedRow> alone = decode({prompts[i]}, config);
    CHECK(together[i].ids == alone[0].ids);
    CHECK(together[i].ids.size() == 9);
    CHECK(together[i].log_probs == alone[0].log_probs);
  }
}

TEST_CASE("end tokens end a row, not before min_decode_steps, and not in the prompt", "[lm]") {
  const Tokens prompt = {6, 2, 6};
  const Tokens all = ids_of(decode({prompt}, greedy(20))[0]);
  const std::int32_t end = all[3];
  const auto first = static_cast<std::size_t>(std::find(all.begin(), all.end(), end) - all.begin());
  const DecodedRow row = decode({prompt}, greedy(20), {.end_tokens = {end}})[0];
  CHECK(row.ended);
  CHECK(row.ids == Tokens(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first) + 1));

  DecodeConfig later = greedy(20);
  later.min_decode_steps = 8;
  const DecodedRow forced = decode({prompt}, later, {.end_tokens = {end}})[0];
  REQUIRE(forced.ids.size() >= 8);
  CHECK(std::find(forced.ids.begin(), forced.ids.begin() + 8, end) == forced.ids.begin() + 8);

  CHECK(decode({{end, 1}}, greedy(3), {.end_tokens = {end}})[0].ids.size() >= 1);
}

TEST_CASE("no sequence gets longer than the model can take", "[lm]") {
  const std::vector<Tokens> prompts = {{1, 2}, {1, 2, 3, 4}, {1, 2, 3, 4, 5, 6}};
  FakeModel model(11, prompts.size());
  const std::vector<Key> keys(prompts.size(), Key(3));
  const auto rows =
      sample_decode(model, prompts, greedy(50), {.end_tokens = {}, .longest = 5}, keys);
  CHECK(rows[0].ids.size() == 3);
  CHECK(rows[1].ids.size() == 1);
  CHECK(rows[2].ids.empty());
  // The last token is chosen, and not fed.
  CHECK(model.longest() == 4);
  CHECK(sample_decode(model, {}, greedy(5), {}, {}).empty());
}

TEST_CASE("an observer sees each token and can end a row", "[lm]") {
  FakeModel model(11, 2);
  const std::vector<Tokens> prompts = {{1}, {2}};
  const std::vector<Key> keys(2, Key(3));
  std::map<std::size_t, Tokens> seen;
  const auto rows =
      sample_decode(model, prompts, greedy(5), {}, keys, [&](std::size_t row, std::int32_t id) {
        seen[row].push_back(id);
        return row == 1 || seen[row].size() < 2;
      });
  CHECK(rows[0].ids == seen[0]);
  CHECK(rows[0].ids.size() == 2);
  CHECK(rows[0].ended);
  CHECK(rows[1].ids == seen[1]);
  CHECK(rows[1].ids.size() == 5);
}

// The best finished sequence of at most `steps` tokens, by trying all.
struct Best {
  double score = -1e300;
  Tokens ids;
};
void try_all(const FakeModel& model, Tokens& sequence, std::size_t prompt, double sum,
             std::int64_t steps, std::int32_t end, double alpha, Best& best) {
  const std::vector<float> logits = model.logits_behind(sequence);
  const auto length = static_cast<double>(sequence.size() - prompt + 1);
  const double ended = (sum + log_probability(logits, end)) / std::pow((length + 5) / 5, alpha);
  if (ended > best.score) {
    best = {ended, Tokens(sequence.begin() + static_cast<std::ptrdiff_t>(prompt), sequence.end())};
    best.ids.push_back(end);
  }
  if (steps == 1) return;
  for (std::int32_t id = 0; id < model.vocabulary_size(); ++id) {
    if (id == end) continue;
    sequence.push_back(id);
    try_all(model, sequence, prompt, sum + log_probability(logits, id), steps - 1, end, alpha,
            best);
    sequence.pop_back();
  }
}

TEST_CASE("a beam as wide as the tree finds the best sequence of all", "[lm]") {
  for (const std::int32_t start : {0, 1, 2, 3}) {
    DecodeConfig config;
    config.max_decode_steps = 4;
    config.beam_size = 64;  // 4^3 sequences of three tokens
    FakeModel model(5, 64);
    const std::int32_t end = 4;
    const Tokens prompt = {start, 2};
    const std::vector<Beam> beams = beam_search(model, prompt, config, {.end_tokens = {end}});
    Best best;
    Tokens sequence = prompt;
    try_all(FakeModel(5, 1), sequence, 2, 0, 4, end, config.length_norm_alpha, best);
    REQUIRE_FALSE(beams.empty());
    CHECK(beams[0].ids == best.ids);
    CHECK(beams[0].score == Approx(best.score).margin(1e-9));
    CHECK(beams[0].ended);
    CHECK(beams[0].log_probs.size() == beams[0].ids.size());
    for (std::size_t i = 1; i < beams.size(); ++i) CHECK(beams[i].score <= beams[i - 1].score);
  }
}

TEST_CASE("a beam of one without end tokens is greedy decoding", "[lm]") {
  for (const std::int32_t start : {0, 3, 7}) {
    FakeModel model(11, 1);
    const Tokens prompt = {start};
    DecodeConfig config = greedy(12);
    const std::vector<Beam> beams = beam_search(model, prompt, config, {});
    REQUIRE(beams.size() == 1);
    CHECK(beams[0].ids == ids_of(decode({prompt}, config)[0]));
    CHECK_FALSE(beams[0].ended);
  }
}

// Logits by the last token alone.
class Chain final : public StepModel {
 public:
  explicit Chain(std::vector<std::vector<float>> probabilities, std::size_t rows)
      : probabilities_(std::move(probabilities)), last_(rows) {}
  std::int64_t vocabulary_size() const override { return std::ssize(probabilities_); }
  std::vector<float> extend(std::span<const std::int32_t> ids, std::int64_t count) override {
    std::vector<float> logits;
    for (std::size_t row = 0; row < last_.size(); ++row) {
      last_[row] = ids[(row + 1) * static_cast<std::size_t>(count) - 1];
      for (const float p : probabilities_[static_cast<std::size_t>(last_[row])]) {
        logits.push_back(std::log(p));
      }
    }
    return logits;
  }
  void reorder(std::span<const std::int32_t> rows) override {
    Tokens reordered;
    for (const std::int32_t row : rows) reordered.push_back(last_[static_cast<std::size_t>(row)]);
    last_ = std::move(reordered);
  }

 private:
  std::vector<std::vector<float>> probabilities_;
  Tokens last_;
};

// Token 0 is the end. From 1: 0.1 end, 0.5 to 2, 0.4 to 3. From 2: 0.2 end, 0.4 to 2, 0.4 to 3.
// From 3: 0.9 end, 0.05, 0.05. By hand, after the prompt {1}:
//   {0}    ln 0.1          / (6/5)^0.8 = -2.302585 / 1.157030 = -1.990081
//   {3, 0} ln(0.4 * 0.9)   / (7/5)^0.8 = -1.021651 / 1.308888 = -0.780549
//   {2, 0} ln(0.5 * 0.2)   / (7/5)^0.8 = -2.302585 / 1.308888 = -1.759192
//   {2, 3, 0} ln(0.5 * 0.4 * 0.9) / (8/5)^0.8 = -1.714798 / 1.456451 = -1.177381
TEST_CASE("beam search by hand: greedy misses what two beams find", "[lm]") {
  const std::vector<std::vector<float>> table = {
      {1, 0, 0, 0}, {0.1F, 0, 0.5F, 0.4F}, {0.2F, 0, 0.4F, 0.4F}, {0.9F, 0, 0.05F, 0.05F}};
  DecodeConfig config;
  config.max_decode_steps = 3;
  config.beam_size = 2;
  Chain model(table, 2);
  const Tokens prompt = {1};
  const std::vector<Beam> beams = beam_search(model, prompt, config, {.end_tokens = {0}});
  REQUIRE(beams.size() == 2);
  CHECK(beams[0].ids == Tokens{3, 0});
  CHECK(beams[0].score == Approx(-0.780549).margin(1e-5));
  CHECK(beams[1].ids == Tokens{2, 3, 0});
  CHECK(beams[1].score == Approx(-1.177381).margin(1e-5));
  CHECK(beams[1].log_probs[0] == Approx(std::log(0.5)).margin(1e-6));

  SECTION("end tokens wait for min_decode_steps") {
    config.min_decode_steps = 2;
    Chain again(table, 2);
    const std::vector<Beam> later = beam_search(again, prompt, config, {.end_tokens = {0}});
    REQUIRE_FALSE(later.empty());
    CHECK(later[0].ids == Tokens{2, 3, 0});
  }
  SECTION("a prompt that fills the model has no beams") {
    Chain again(table, 2);
    CHECK(beam_search(again, prompt, config, {.end_tokens = {0}, .longest = 1}).empty());
  }
}

}  // namespace
