// SPDX-License-Identifier: Apache-2.0
#include "sample_decode.h"

#include <algorithm>
#include <limits>

#include "token_sampler.h"

namespace trivet::lm {
namespace {

class SampleDecoder {
 public:
  SampleDecoder(StepModel& model, std::span<const std::vector<std::int32_t>> prompts,
                const DecodeConfig& config, const DecodeLimits& limits, std::span<const Key> keys,
                const OnToken& on_token)
      : model_(model),
        prompts_(prompts),
        config_(config),
        limits_(limits),
        keys_(keys),
        on_token_(on_token),
        rows_(prompts.size()) {}

  std::vector<DecodedRow> decode() {
    std::int64_t fed = length_of_shortest();
    std::vector<std::int32_t> next;
    for (const auto& prompt : prompts_) {
      next.insert(next.end(), prompt.begin(), prompt.begin() + fed);
    }
    std::int64_t count = fed;
    while (any_at_work(fed)) {
      const std::vector<float> logits = model_.extend(next, count);
      next.clear();
      for (std::size_t row = 0; row < rows_.size(); ++row) {
        next.push_back(token_at(row, fed, logits_of(logits, row)));
      }
      count = 1;
      ++fed;
    }
    return std::move(rows_);
  }

 private:
  std::int64_t length_of_shortest() const {
    std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
    for (const auto& prompt : prompts_) shortest = std::min(shortest, std::ssize(prompt));
    return shortest;
  }

  // With `fed` places so far.
  bool is_at_work(std::size_t row, std::int64_t fed) const {
    if (limits_.longest > 0 && std::max(fed, std::ssize(prompts_[row])) >= limits_.longest) {
      return false;
    }
    return !rows_[row].ended && std::ssize(rows_[row].ids) < config_.max_decode_steps;
  }

  bool any_at_work(std::int64_t fed) const {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (is_at_work(row, fed)) return true;
    }
    return false;
  }

  std::span<const float> logits_of(const std::vector<float>& logits, std::size_t row) const {
    const auto width = static_cast<std::size_t>(model_.vocabulary_size());
    return std::span(logits).subspan(row * width, width);
  }

  // The token of place `place`: of the prompt, chosen, or any for a row that is over.
  std::int32_t token_at(std::size_t row, std::int64_t place, std::span<const float> logits) {
    const auto& prompt = prompts_[row];
    if (place < std::ssize(prompt)) return prompt[static_cast<std::size_t>(place)];
    if (!is_at_work(row, place)) return prompt.back();
    return choose(row, logits);
  }

  std::int32_t choose(std::size_t row, std::span<const float> logits) {
    DecodedRow& decoded = rows_[row];
    const auto step = static_cast<std::uint64_t>(decoded.ids.size());
    std::int32_t id = 0;
    if (std::ssize(decoded.ids) < config_.min_decode_steps && !limits_.end_tokens.empty()) {
      std::vector<float> without(logits.begin(), logits.end());
      for (const std::int32_t end : limits_.end_tokens) {
        without[static_cast<std::size_t>(end)] = -std::numeric_limits<float>::infinity();
      }
      id = choose_token(without, config_, keys_[row].fold(step));
    } else {
      id = choose_token(logits, config_, keys_[row].fold(step));
    }
    decoded.ids.push_back(id);
    decoded.log_probs.push_back(log_probability(logits, id));
    const auto& ends = limits_.end_tokens;
    if (std::find(ends.begin(), ends.end(), id) != ends.end()) {
      decoded.ended = true;
    } else if (on_token_ && !on_token_(row, id)) {
      decoded.ended = true;
    }
    return id;
  }

  StepModel& model_;
  std::span<const std::vector<std::int32_t>> prompts_;
  const DecodeConfig& config_;
  const DecodeLimits& limits_;
  std::span<const Key> keys_;
  const OnToken& on_token_;
  std::vector<DecodedRow> rows_;
};

}  // namespace

std::vector<DecodedRow> sample_decode(StepModel& model,
                                      std::span<const std::vector<std::int32_t>> prompts,
                                      const DecodeConfig& config, const DecodeLimits& limits,
                                      std::span<const Key> keys, const OnToken& on_token) {
  if (prompts.empty()) return {};
  return SampleDecoder(model, prompts, config, limits, keys, on_token).decode();
}

}  // namespace trivet::lm
