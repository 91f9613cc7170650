// SPDX-License-Identifier: Apache-2.0
#include "lm/decoding/sample_decode.h"

#include <algorithm>
#include <limits>

#include "lm/decoding/token_sampler.h"

namespace trivet::lm {
namespace {

class SampleDecoder {
 public:
  SampleDecoder(DecoderState& model, std::span<const std::vector<std::int32_t>> prompts,
                const DecodeConfig& config, const DecodeLimits& limits,
                std::span<const RngKey> keys, const OnToken& on_token)
      : model_(model),
        prompts_(prompts),
        config_(config),
        limits_(limits),
        keys_(keys),
        on_token_(on_token),
        rows_(prompts.size()) {}

  std::vector<DecodedRow> decode() {
    std::vector<std::vector<std::int32_t>> prompts;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (!is_at_work(row)) continue;
      at_work_.push_back(row);
      prompts.push_back(prompts_[row]);
    }
    if (prompts.empty()) return std::move(rows_);
    std::vector<float> logits = model_.start(prompts);
    for (;;) {
      const std::vector<std::int32_t> next = choose_all(logits);
      if (next.empty()) return std::move(rows_);
      logits = model_.extend(next);
    }
  }

 private:
  bool is_at_work(std::size_t row) const {
    const std::int64_t positions = std::ssize(prompts_[row]) + std::ssize(rows_[row].ids);
    if (limits_.longest > 0 && positions >= limits_.longest) return false;
    return !rows_[row].ended && std::ssize(rows_[row].ids) < config_.max_decode_steps;
  }

  // Chooses a token for each active row, and returns those of the rows that continue.
  std::vector<std::int32_t> choose_all(std::span<const float> logits) {
    const auto width = static_cast<std::size_t>(model_.vocabulary_size());
    std::vector<std::int32_t> next, kept;
    std::vector<std::size_t> still;
    for (std::size_t i = 0; i < at_work_.size(); ++i) {
      const std::int32_t id = choose(at_work_[i], logits.subspan(i * width, width));
      if (!is_at_work(at_work_[i])) continue;
      next.push_back(id);
      kept.push_back(static_cast<std::int32_t>(i));
      still.push_back(at_work_[i]);
    }
    if (!next.empty() && still.size() < at_work_.size()) model_.reorder(kept);
    at_work_ = std::move(still);
    return next;
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

  DecoderState& model_;
  std::span<const std::vector<std::int32_t>> prompts_;
  const DecodeConfig& config_;
  const DecodeLimits& limits_;
  std::span<const RngKey> keys_;
  const OnToken& on_token_;
  std::vector<DecodedRow> rows_;
  std::vector<std::size_t> at_work_;  // row i of the model is this row
};

}  // namespace

std::vector<DecodedRow> sample_decode(DecoderState& model,
                                      std::span<const std::vector<std::int32_t>> prompts,
                                      const DecodeConfig& config, const DecodeLimits& limits,
                                      std::span<const RngKey> keys, const OnToken& on_token) {
  if (prompts.empty()) return {};
  return SampleDecoder(model, prompts, config, limits, keys, on_token).decode();
}

}  // namespace trivet::lm
