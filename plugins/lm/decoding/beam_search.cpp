// SPDX-License-Identifier: Apache-2.0
#include "lm/decoding/beam_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "lm/decoding/token_sampler.h"

namespace trivet::lm {
namespace {

// Far below any sum of log probabilities, as in Praxis.
constexpr double kGivenUp = -1e9;
constexpr double kForbidden = -1e20;

struct Extension {
  std::size_t parent = 0;
  std::int32_t id = 0;
  double log_prob = 0;
  double score = 0;  // of the whole sequence
};

bool by_score(const Beam& a, const Beam& b) {
  return a.score > b.score;
}

class BeamSearch {
 public:
  BeamSearch(DecoderState& model, std::span<const std::int32_t> prompt, const DecodeConfig& config,
             const DecodeLimits& limits)
      : model_(model),
        prompt_(prompt),
        config_(config),
        limits_(limits),
        beams_(static_cast<std::size_t>(config.beam_size)),
        vocabulary_(static_cast<std::size_t>(model.vocabulary_size())),
        live_(beams_) {
    for (std::size_t i = 0; i < beams_; ++i) live_[i].score = kGivenUp * static_cast<double>(i);
  }

  std::vector<Beam> search() {
    std::int64_t steps = config_.max_decode_steps;
    if (limits_.longest > 0) steps = std::min(steps, limits_.longest - std::ssize(prompt_));
    if (steps <= 0) return {};
    std::vector<float> logits = logits_after_prompt();
    for (std::int64_t step = 0;; ++step) {
      take_logits(logits, step);
      finish_some(step);
      const std::vector<Extension> chosen = best_extensions();
      keep_live(chosen);
      if (step + 1 == steps || is_decided(step + 1, steps)) return result();
      std::vector<std::int32_t> parents, next;
      for (const Extension& extension : chosen) {
        parents.push_back(static_cast<std::int32_t>(extension.parent));
        next.push_back(extension.id);
      }
      model_.reorder(parents);
      logits = model_.extend(next);
    }
  }

 private:
  // Reads the prompt once, for all beams.
  std::vector<float> logits_after_prompt() {
    const std::vector<std::int32_t> prompt(prompt_.begin(), prompt_.end());
    const std::vector<float> of_one = model_.start({&prompt, 1});
    model_.reorder(std::vector<std::int32_t>(beams_, 0));
    std::vector<float> all;
    for (std::size_t i = 0; i < beams_; ++i) all.insert(all.end(), of_one.begin(), of_one.end());
    return all;
  }

  // Whether no live sequence, now of `length` tokens, can still enter the result. A log probability
  // is at most 0, so a sequence's sum never rises. Its normalized score is largest at the shortest
  // or the longest possible length, since norms are monotonic in the length. Sums of logits rise.
  bool is_decided(std::int64_t length, std::int64_t steps) const {
    if (config_.early_exit && std::ranges::all_of(live_, &Beam::ended)) return true;
    if (config_.flat_beam || finished_.size() < beams_) return false;
    return std::ranges::all_of(live_, [&](const Beam& beam) {
      const double most = std::max(normalize(beam.score, length + 1), normalize(beam.score, steps));
      return most <= finished_.back().score;
    });
  }

  // `log_probs_` are reported, and `values_` added up.
  void take_logits(const std::vector<float>& logits, std::int64_t step) {
    log_probs_.resize(logits.size());
    for (std::size_t row = 0; row < beams_; ++row) {
      to_log_probabilities(std::span(logits).subspan(row * vocabulary_, vocabulary_),
                           std::span(log_probs_).subspan(row * vocabulary_, vocabulary_));
    }
    if (config_.flat_beam) {
      values_.assign(logits.begin(), logits.end());
      return replace_nan();
    }
    values_ = log_probs_;
    if (step >= config_.min_decode_steps) return;
    for (std::size_t row = 0; row < beams_; ++row) {
      for (const std::int32_t end : limits_.end_tokens) {
        values_[row * vocabulary_ + static_cast<std::size_t>(end)] = kForbidden;
      }
    }
  }

  void replace_nan() {
    for (double& value : values_) {
      if (std::isnan(value)) value = -std::numeric_limits<double>::infinity();
    }
  }

  double log_prob(std::size_t row, std::int32_t id) const {
    return log_probs_[row * vocabulary_ + static_cast<std::size_t>(id)];
  }

  double value(std::size_t row, std::int32_t id) const {
    return values_[row * vocabulary_ + static_cast<std::size_t>(id)];
  }

  bool is_end(std::int32_t id) const {
    const auto& ends = limits_.end_tokens;
    return std::find(ends.begin(), ends.end(), id) != ends.end();
  }

  double normalize(double score, std::int64_t length) const {
    return score / std::pow((static_cast<double>(length) + 5) / 5, config_.length_norm_alpha);
  }

  // Runs after `step` tokens after the prompt.
  void finish_some(std::int64_t step) {
    if (limits_.end_tokens.empty()) return;
    for (std::size_t row = 0; row < beams_; ++row) {
      std::int32_t best = limits_.end_tokens[0];
      for (const std::int32_t end : limits_.end_tokens) {
        if (value(row, end) > value(row, best)) best = end;
      }
      Beam ended = live_[row];
      ended.ids.push_back(best);
      ended.log_probs.push_back(log_prob(row, best));
      ended.score = normalize(live_[row].score + value(row, best), step + 1);
      ended.ended = true;
      finished_.push_back(std::move(ended));
    }
    std::stable_sort(finished_.begin(), finished_.end(), by_score);
    if (finished_.size() > beams_) finished_.resize(beams_);
  }

  std::vector<Extension> best_extensions() const {
    const auto wanted = static_cast<std::size_t>(
        config_.tokens_per_beam > 0 ? config_.tokens_per_beam : config_.beam_size);
    const std::size_t tried = std::min(wanted, vocabulary_);
    std::vector<Extension> all;
    std::vector<std::int32_t> ids(vocabulary_);
    for (std::size_t row = 0; row < beams_; ++row) {
      std::iota(ids.begin(), ids.end(), 0);
      std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(tried), ids.end(),
                        [&](std::int32_t a, std::int32_t b) {
                          const double of_a = value(row, a), of_b = value(row, b);
                          return of_a != of_b ? of_a > of_b : a < b;
                        });
      for (std::size_t i = 0; i < tried; ++i) {
        const double penalty = is_end(ids[i]) && !config_.early_exit ? kGivenUp : 0;
        all.push_back(
            {row, ids[i], log_prob(row, ids[i]), live_[row].score + value(row, ids[i]) + penalty});
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Extension& a, const Extension& b) { return a.score > b.score; });
    all.resize(beams_);
    return all;
  }

  void keep_live(const std::vector<Extension>& chosen) {
    std::vector<Beam> live;
    for (const Extension& extension : chosen) {
      Beam& beam = live.emplace_back(live_[extension.parent]);
      beam.ended = beam.ended || is_end(extension.id);
      beam.ids.push_back(extension.id);
      beam.log_probs.push_back(extension.log_prob);
      beam.score = extension.score;
    }
    live_ = std::move(live);
  }

  std::vector<Beam> result() {
    // A sequence that was given up, or that ended with a given-up token, is not a result.
    const auto given_up = [](const Beam& beam) { return beam.score <= kGivenUp / 1e3; };
    std::erase_if(finished_, given_up);
    if (finished_.size() == beams_) return std::move(finished_);
    std::erase_if(live_, given_up);
    if (!finished_.empty()) std::erase_if(live_, [](const Beam& beam) { return beam.ended; });
    for (Beam& beam : live_) beam.score = normalize(beam.score, std::ssize(beam.ids));
    std::stable_sort(live_.begin(), live_.end(), by_score);
    live_.resize(std::min(live_.size(), beams_ - finished_.size()));
    std::ranges::move(live_, std::back_inserter(finished_));
    return std::move(finished_);
  }

  DecoderState& model_;
  std::span<const std::int32_t> prompt_;
  const DecodeConfig& config_;
  const DecodeLimits& limits_;
  std::size_t beams_, vocabulary_;
  std::vector<Beam> live_, finished_;
  std::vector<double> log_probs_, values_;
};

}  // namespace

std::vector<Beam> beam_search(DecoderState& model, std::span<const std::int32_t> prompt,
                              const DecodeConfig& config, const DecodeLimits& limits) {
  return BeamSearch(model, prompt, config, limits).search();
}

}  // namespace trivet::lm
