// SPDX-License-Identifier: Apache-2.0
// Beam search against an exhaustive one, and by hand.
#include <algorithm>
#include <cmath>
#include <functional>

#include <catch2/catch.hpp>

#include "lm/decoding/beam_search.h"
#include "lm/decoding/sample_decode.h"
#include "lm/decoding/token_sampler.h"
#include "plugins/lm/fake_decoder_state.h"

namespace {

using namespace trivet;
using namespace trivet::lm;

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
    FakeModel model(5);
    const std::int32_t end = 4;
    const Tokens prompt = {start, 2};
    const std::vector<Beam> beams = beam_search(model, prompt, config, {.end_tokens = {end}});
    Best best;
    Tokens sequence = prompt;
    try_all(FakeModel(5), sequence, 2, 0, 4, end, config.length_norm_alpha, best);
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
    FakeModel model(11);
    const Tokens prompt = {start};
    DecodeConfig config = greedy(12);
    const std::vector<Beam> beams = beam_search(model, prompt, config, {});
    REQUIRE(beams.size() == 1);
    FakeModel again(11);
    const std::vector<Tokens> prompts = {prompt};
    const std::vector<RngKey> keys(1, RngKey(3));
    CHECK(beams[0].ids == sample(again, prompts, config, {}, keys)[0].ids);
    CHECK_FALSE(beams[0].ended);
  }
}

// Logits by the last token alone.
class Chain final : public DecoderState {
 public:
  explicit Chain(std::vector<std::vector<float>> probabilities)
      : probabilities_(std::move(probabilities)) {}
  std::int64_t vocabulary_size() const override { return std::ssize(probabilities_); }
  std::vector<float> start(std::span<const Tokens> prompts) override {
    last_.clear();
    for (const Tokens& prompt : prompts) last_.push_back(prompt.back());
    return logits();
  }
  std::vector<float> extend(std::span<const std::int32_t> ids) override {
    last_.assign(ids.begin(), ids.end());
    return logits();
  }
  void reorder(std::span<const std::int32_t> rows) override {
    Tokens reordered;
    for (const std::int32_t row : rows) reordered.push_back(last_[static_cast<std::size_t>(row)]);
    last_ = std::move(reordered);
  }

  int calls = 0;

 private:
  std::vector<float> logits() {
    ++calls;
    std::vector<float> all;
    for (const std::int32_t last : last_) {
      for (const float p : probabilities_[static_cast<std::size_t>(last)]) {
        all.push_back(std::log(p));
      }
    }
    return all;
  }

  std::vector<std::vector<float>> probabilities_;
  Tokens last_;
};

// Token 0 is the end. From 1: 0.1 end, 0.5 to 2, 0.4 to 3. From 2: 0.2 end, 0.4 to 2, 0.4 to 3.
// From 3: 0.9 end, 0.05, 0.05. By hand, after the prompt {1}:
//   {0}    ln 0.1          / (6/5)^0.8 = -2.302585 / 1.157030 = -1.990081
//   {3, 0} ln(0.4 * 0.9)   / (7/5)^0.8 = -1.021651 / 1.308888 = -0.780549
//   {2, 0} ln(0.5 * 0.2)   / (7/5)^0.8 = -2.302585 / 1.308888 = -1.759192
//   {2, 3, 0} ln(0.5 * 0.4 * 0.9) / (8/5)^0.8 = -1.714798 / 1.456451 = -1.177381
TEST_CASE("beam search by hand: two beams beat greedy decoding", "[lm]") {
  const std::vector<std::vector<float>> table = {
      {1, 0, 0, 0}, {0.1F, 0, 0.5F, 0.4F}, {0.2F, 0, 0.4F, 0.4F}, {0.9F, 0, 0.05F, 0.05F}};
  DecodeConfig config;
  config.max_decode_steps = 3;
  config.beam_size = 2;
  Chain model(table);
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
    Chain again(table);
    const std::vector<Beam> later = beam_search(again, prompt, config, {.end_tokens = {0}});
    REQUIRE_FALSE(later.empty());
    CHECK(later[0].ids == Tokens{2, 3, 0});
  }
  SECTION("a prompt that fills the model has no beams") {
    Chain again(table);
    CHECK(beam_search(again, prompt, config, {.end_tokens = {0}, .longest = 1}).empty());
  }
}

// A live sequence must still be able to beat the worst finished one.
TEST_CASE("a beam search that is decided ends, with the result of all its steps", "[lm]") {
  const std::vector<std::vector<float>> table = {
      {1, 0, 0, 0}, {0.1F, 0, 0.5F, 0.4F}, {0.6F, 0, 0.2F, 0.2F}, {0.9F, 0, 0.05F, 0.05F}};
  const Tokens prompt = {1};
  const auto search = [&](std::int64_t steps, double alpha, int* calls) {
    DecodeConfig config;
    config.max_decode_steps = steps;
    config.beam_size = 2;
    config.length_norm_alpha = alpha;
    Chain model(table);
    const std::vector<Beam> beams = beam_search(model, prompt, config, {.end_tokens = {0}});
    *calls = model.calls;
    return beams;
  };
  for (const double alpha : {0.8, 0.0, -0.5}) {
    int few = 0, many = 0;
    const std::vector<Beam> short_search = search(12, alpha, &few);
    const std::vector<Beam> long_search = search(60, alpha, &many);
    INFO(alpha);
    CHECK(many < 40);
    REQUIRE(short_search.size() == 2);
    for (const std::size_t i : {0U, 1U}) {
      CHECK(long_search[i].ids == short_search[i].ids);
      CHECK(long_search[i].score == short_search[i].score);
    }
  }
}

// Random models, against all possible sequences.
TEST_CASE("a beam search that ends early has the best sequence of all", "[lm]") {
  for (const std::int32_t start : {0, 1, 2, 3}) {
    DecodeConfig config;
    config.max_decode_steps = 5;
    config.beam_size = 256;
    config.length_norm_alpha = 0.1;
    FakeModel model(5);
    const Tokens prompt = {start, 1};
    const std::vector<Beam> beams = beam_search(model, prompt, config, {.end_tokens = {4}});
    Best best;
    Tokens sequence = prompt;
    try_all(FakeModel(5), sequence, 2, 0, 5, 4, config.length_norm_alpha, best);
    CHECK(beams.at(0).ids == best.ids);
  }
}

}  // namespace
