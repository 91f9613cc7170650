// SPDX-License-Identifier: Apache-2.0
// Beam search against the results that Praxis' tests have, and against a search of all steps.
#include "lm/decoding/beam_search.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <catch2/catch.hpp>

#include "lm/decoding/token_sampler.h"
#include "plugins/lm/fake_decoder_state.h"

namespace beam_search_test {
namespace {

using namespace trivet;
using namespace trivet::lm;

struct Found {
  Tokens ids;
  double score = 0;
};

// Every step of the search that beam_search.h describes, on whole sequences.
class FullSearch {
 public:
  FullSearch(const FakeModel& model, const DecodeConfig& config, const Tokens& ends)
      : model_(model), config_(config), ends_(ends) {}

  std::vector<Found> search(const Tokens& prompt) {
    const auto beams = static_cast<std::size_t>(config_.beam_size);
    std::vector<Live> live(beams);
    for (std::size_t i = 0; i < beams; ++i) live[i].score = -1e9 * static_cast<double>(i);
    std::vector<Found> finished;
    for (std::int64_t step = 0; step < config_.max_decode_steps; ++step) {
      std::vector<Live> next;
      for (const Live& hypothesis : live) {
        const std::vector<double> log_probs = log_probs_behind(prompt, hypothesis.ids, step);
        finished.push_back(ended(hypothesis, log_probs, step));
        extend(hypothesis, log_probs, next);
      }
      sort_and_cut(finished, beams);
      sort_and_cut(next, beams);
      live = std::move(next);
      if (config_.early_exit && std::ranges::all_of(live, &Live::done)) break;
    }
    std::erase_if(finished, [](const Found& one) { return one.score <= -1e6; });
    return finished;
  }

 private:
  struct Live {
    Tokens ids;
    double score = 0;
    bool done = false;
  };

  template <class T>
  static void sort_and_cut(std::vector<T>& all, std::size_t count) {
    std::stable_sort(all.begin(), all.end(),
                     [](const T& a, const T& b) { return a.score > b.score; });
    if (all.size() > count) all.resize(count);
  }

  bool is_end(std::int32_t id) const { return std::ranges::count(ends_, id) > 0; }

  std::vector<double> log_probs_behind(Tokens sequence, const Tokens& ids,
                                       std::int64_t step) const {
    sequence.insert(sequence.end(), ids.begin(), ids.end());
    const std::vector<float> logits = model_.logits_behind(sequence);
    std::vector<double> log_probs(logits.size());
    to_log_probabilities(logits, log_probs);
    for (const std::int32_t end : ends_) {
      if (step < config_.min_decode_steps) log_probs[static_cast<std::size_t>(end)] = -1e20;
    }
    return log_probs;
  }

  Found ended(const Live& hypothesis, const std::vector<double>& log_probs,
              std::int64_t step) const {
    const std::int32_t end = *std::ranges::max_element(
        ends_, {}, [&](std::int32_t id) { return log_probs[static_cast<std::size_t>(id)]; });
    Found found{hypothesis.ids, hypothesis.score + log_probs[static_cast<std::size_t>(end)]};
    found.ids.push_back(end);
    found.score /= std::pow((static_cast<double>(step) + 6) / 5, config_.length_norm_alpha);
    return found;
  }

  void extend(const Live& hypothesis, const std::vector<double>& log_probs,
              std::vector<Live>& next) const {
    Tokens order(log_probs.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::int32_t id) {
      return log_probs[static_cast<std::size_t>(id)];
    });
    const std::int64_t tried =
        config_.tokens_per_beam > 0 ? config_.tokens_per_beam : config_.beam_size;
    order.resize(std::min(order.size(), static_cast<std::size_t>(tried)));
    for (const std::int32_t id : order) {
      Live& one = next.emplace_back(hypothesis);
      one.ids.push_back(id);
      one.score += log_probs[static_cast<std::size_t>(id)];
      if (is_end(id) && !config_.early_exit) one.score -= 1e9;
      one.done = one.done || is_end(id);
    }
  }

  const FakeModel& model_;
  const DecodeConfig& config_;
  const Tokens& ends_;
};

// Praxis' test_vanilla_beam_search_base: logits by the last token, prompt {2, 3}, four beams.
std::vector<Beam> praxis_search(const DecodeConfig& config, const Tokens& ends) {
  const std::vector<std::vector<float>> table = {
      {1, 0, 0, 2, 0}, {5, 1, 0, 0, 0}, {5, 0, 0, 1, 0}, {0, 1, 0, 2, 10}, {0, 0, 0, 0, 0}};
  ScriptedModel model(5, [&](std::size_t, std::size_t, const Tokens& sequence) {
    return table[static_cast<std::size_t>(sequence.back())];
  });
  const Tokens prompt = {2, 3};
  const std::vector<Beam> beams = beam_search(model, prompt, config, {.end_tokens = ends});
  // The score is the sum of the log probabilities of the tokens: alpha is 0.
  for (const Beam& beam : beams) {
    double sum = 0;
    std::int32_t last = 3;
    for (std::size_t i = 0; i < beam.ids.size(); ++i) {
      const double one = log_probability(table[static_cast<std::size_t>(last)], beam.ids[i]);
      CHECK(beam.log_probs.at(i) == Approx(one).margin(1e-12));
      sum += one;
      last = beam.ids[i];
    }
    CHECK(beam.score == Approx(sum).margin(1e-9));
  }
  return beams;
}

std::vector<Tokens> ids_of(const std::vector<Beam>& beams) {
  std::vector<Tokens> ids;
  for (const Beam& beam : beams) ids.push_back(beam.ids);
  return ids;
}

DecodeConfig praxis_config() {
  DecodeConfig config;
  config.beam_size = 4;
  config.max_decode_steps = 3;
  config.length_norm_alpha = 0;
  return config;
}

}  // namespace

TEST_CASE("beam search finds what Praxis' tests find", "[lm-beam]") {
  DecodeConfig config = praxis_config();
  CHECK(ids_of(praxis_search(config, {4})) ==
        std::vector<Tokens>{{4}, {3, 4}, {0, 3, 4}, {1, 0, 4}});
  CHECK(ids_of(praxis_search(config, {1, 3})) ==
        std::vector<Tokens>{{4, 1}, {4, 0, 3}, {4, 2, 3}, {3}});
  config.early_exit = true;
  CHECK(ids_of(praxis_search(config, {4})) == std::vector<Tokens>{{4}, {4, 4}, {3, 4}, {0, 4}});
  config.min_decode_steps = 1;
  CHECK(ids_of(praxis_search(config, {4})) ==
        std::vector<Tokens>{{3, 4}, {3, 4, 4}, {0, 3, 4}, {1, 0, 4}});
}

// Praxis' test_flat_beam_search_no_prefix: logits by the step and the position in the beam.
TEST_CASE("flat beam search finds what Praxis' test finds", "[lm-beam]") {
  const std::vector<float> first = {2, 3, 1, 5, 0};
  const std::vector<std::vector<float>> second = {
      {2, 3, 4, 1, 55}, {25, 4, 3, 2, 1}, {0, 0, 0, 0, 0}, {1, 2, 26, 4, 5}};
  ScriptedModel model(5, [&](std::size_t step, std::size_t row, const Tokens&) {
    if (step == 0) return first;
    return step == 1 ? second[row] : std::vector<float>(5, 0);
  });
  DecodeConfig config;
  config.beam_size = 4;
  config.max_decode_steps = 3;
  config.flat_beam = true;
  const Tokens prompt = {9};
  const std::vector<Beam> beams = beam_search(model, prompt, config, {.end_tokens = {4}});
  CHECK(ids_of(beams) == std::vector<Tokens>{{3, 4}, {1, 0, 4}, {2, 2, 4}, {3, 2, 4}});
  REQUIRE(beams.size() == 4);
  const double two = std::pow(7.0 / 5, 0.8), three = std::pow(8.0 / 5, 0.8);
  CHECK(beams[0].score == Approx((5 + 55) / two).margin(1e-9));
  CHECK(beams[1].score == Approx((3 + 25) / three).margin(1e-9));
  CHECK(beams[2].score == Approx((1 + 26) / three).margin(1e-9));
  CHECK(beams[3].score == Approx((5 + 4) / three).margin(1e-9));
  CHECK(beams[3].log_probs.at(0) == Approx(log_probability(first, 3)).margin(1e-12));
}

TEST_CASE("a search that ends early has the result of all steps, with fewer calls", "[lm-beam]") {
  constexpr std::int64_t kSteps = 24;
  std::int64_t searches = 0, calls = 0;
  for (const Tokens& ends : {Tokens{4}, Tokens{1, 4}}) {
    for (const bool early_exit : {false, true}) {
      for (const double alpha : {0.0, 0.8, 2.0, -0.5}) {
        for (const std::int64_t beams : {1, 2, 4}) {
          for (std::int32_t start = 0; start < 6; ++start) {
            DecodeConfig config;
            config.max_decode_steps = kSteps;
            config.min_decode_steps = start % 3;
            config.beam_size = beams;
            config.tokens_per_beam = start % 2 == 0 ? 0 : 3;
            config.early_exit = early_exit;
            config.length_norm_alpha = alpha;
            FakeModel model(6);
            const Tokens prompt = {start, 2};
            const auto found = beam_search(model, prompt, config, {.end_tokens = ends});
            const auto all = FullSearch(model, config, ends).search(prompt);
            INFO("start " << start << ", beams " << beams << ", alpha " << alpha);
            REQUIRE(found.size() == all.size());
            for (std::size_t i = 0; i < all.size(); ++i) {
              CHECK(found[i].ids == all[i].ids);
              CHECK(found[i].score == Approx(all[i].score).margin(1e-12));
            }
            ++searches;
            calls += model.longest() - 1;
          }
        }
      }
    }
  }
  INFO(calls << " of " << searches * kSteps);
  CHECK(calls < searches * kSteps * 2 / 3);
}

// From step 1 on the end is certain.
TEST_CASE("a search whose end is certain asks the model no more", "[lm-beam]") {
  DecodeConfig config;
  config.max_decode_steps = 50;
  config.beam_size = 2;
  ScriptedModel model(4, [](std::size_t step, std::size_t, const Tokens&) {
    return step == 0 ? std::vector<float>{-3, 1, 1, 0} : std::vector<float>{90, 0, 0, 0};
  });
  const Tokens prompt = {1};
  const std::vector<Beam> beams = beam_search(model, prompt, config, {.end_tokens = {0}});
  CHECK(ids_of(beams) == std::vector<Tokens>{{1, 0}, {2, 0}});
  CHECK(model.calls() == 2);
}

TEST_CASE("a search with early_exit ends when all sequences have ended", "[lm-beam]") {
  DecodeConfig config;
  config.max_decode_steps = 50;
  config.beam_size = 1;
  config.early_exit = true;
  config.length_norm_alpha = 30;  // later ends could win
  ScriptedModel model(3, [](std::size_t step, std::size_t, const Tokens&) {
    return step == 2 ? std::vector<float>{2, 0, 0} : std::vector<float>{0, 1, 0};
  });
  const Tokens prompt = {1};
  beam_search(model, prompt, config, {.end_tokens = {0}});
  CHECK(model.calls() == 3);
}

}  // namespace beam_search_test
