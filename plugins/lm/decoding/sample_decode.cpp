// SPDX-License-Identifier: Apache-2.0
#include "lm/decoding/sample_decode.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "lm/decoding/token_sampler.h"
#include "trivet/error.h"

namespace trivet::lm {
namespace {

using Tokens = std::vector<std::int32_t>;

// The most likely end of a row so far.
struct BestEnd {
  std::size_t step = 0;
  std::int32_t id = 0;
  double log_prob = 0;
  double total = 0;  // of the sequence that ends there
};

class SampleDecoder {
 public:
  SampleDecoder(DecoderState& model, const SampleBatch& batch, const DecodeLimits& limits,
                const OnToken& on_token)
      : model_(model),
        batch_(batch),
        limits_(limits),
        on_token_(on_token),
        width_(static_cast<std::size_t>(model.vocabulary_size())),
        rows_(batch.prompts.size()),
        sums_(rows_.size()),
        ends_(rows_.size()),
        present_(rows_.size()) {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const DecodeConfig& config = config_of(row);
      if (config.cf_guidance_scale != 1 && batch.unconditional.empty()) {
        throw Error("guidance needs unconditional prompts");
      }
      if (config.optimize_eos && limits.end_tokens.empty()) {
        throw Error("optimize_eos needs an end token");
      }
      if (config.repetition_penalty == 1) continue;
      for (const std::int32_t id : batch.prompts[row]) note(row, id);
    }
  }

  std::vector<DecodedRow> decode() {
    std::vector<Tokens> prompts;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (!is_at_work(row)) continue;
      at_work_.push_back(row);
      prompts.push_back(batch_.prompts[row]);
    }
    if (prompts.empty()) return std::move(rows_);
    if (is_guided()) {
      for (const std::size_t row : at_work_) prompts.push_back(batch_.unconditional[row]);
    }
    std::vector<float> logits = model_.start(prompts);
    for (;;) {
      const Tokens next = choose_all(logits);
      if (next.empty()) return std::move(rows_);
      logits = model_.extend(next);
    }
  }

 private:
  const DecodeConfig& config_of(std::size_t row) const {
    return batch_.configs[batch_.configs.size() == 1 ? 0 : row];
  }

  bool is_guided() const { return !batch_.unconditional.empty(); }

  bool is_end(std::int32_t id) const {
    const auto& ends = limits_.end_tokens;
    return std::find(ends.begin(), ends.end(), id) != ends.end();
  }

  bool is_at_work(std::size_t row) const {
    std::int64_t prompt = std::ssize(batch_.prompts[row]);
    if (is_guided()) prompt = std::max(prompt, std::ssize(batch_.unconditional[row]));
    const std::int64_t chosen = std::ssize(rows_[row].ids);
    if (limits_.longest > 0 && prompt + chosen >= limits_.longest) return false;
    if (rows_[row].ended || chosen >= config_of(row).max_decode_steps) return false;
    // A log probability is at most 0, so no later end is more likely than the sequence so far.
    return !ends_[row] || sums_[row] > ends_[row]->total;
  }

  // Chooses a token for each active row, and returns those of the model's rows that continue.
  Tokens choose_all(std::span<const float> logits) {
    Tokens next, kept;
    std::vector<std::size_t> still;
    const std::size_t count = at_work_.size();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = at_work_[i];
      std::vector<float> own(logits.begin() + static_cast<std::ptrdiff_t>(i * width_),
                             logits.begin() + static_cast<std::ptrdiff_t>((i + 1) * width_));
      if (config_of(row).cf_guidance_scale != 1) {
        guide(own, logits.subspan((count + i) * width_, width_), config_of(row).cf_guidance_scale);
      }
      const std::int32_t id = choose(row, std::move(own));
      if (!is_at_work(row)) {
        if (config_of(row).optimize_eos) end_where_likeliest(row);
        continue;
      }
      next.push_back(id);
      kept.push_back(static_cast<std::int32_t>(i));
      still.push_back(row);
    }
    if (is_guided()) {
      const std::size_t chosen = next.size();
      for (std::size_t i = 0; i < chosen; ++i) {
        next.push_back(next[i]);
        kept.push_back(kept[i] + static_cast<std::int32_t>(count));
      }
    }
    if (!next.empty() && still.size() < count) model_.reorder(kept);
    at_work_ = std::move(still);
    return next;
  }

  std::int32_t choose(std::size_t row, std::vector<float> logits) {
    const DecodeConfig& config = config_of(row);
    DecodedRow& decoded = rows_[row];
    const std::size_t step = decoded.ids.size();
    const bool may_end = std::ssize(decoded.ids) >= config.min_decode_steps;
    if (config.optimize_eos && may_end) note_end(row, logits);
    const std::vector<float> as_given = logits;
    penalize(logits, present_[row], config.repetition_penalty);
    if (config.optimize_eos || !may_end) {
      for (const std::int32_t end : limits_.end_tokens) {
        logits[static_cast<std::size_t>(end)] = -std::numeric_limits<float>::infinity();
      }
    }
    const std::int32_t id = choose_token(logits, config, batch_.keys[row].fold(step));
    decoded.ids.push_back(id);
    decoded.log_probs.push_back(log_probability(as_given, id));
    sums_[row] += decoded.log_probs.back();
    if (config.repetition_penalty != 1) note(row, id);
    if (config.optimize_eos) return id;
    if (is_end(id) || (on_token_ && !on_token_(row, id))) decoded.ended = true;
    return id;
  }

  void note(std::size_t row, std::int32_t id) {
    Tokens& present = present_[row];
    if (static_cast<std::size_t>(id) >= width_) return;  // has no logit
    if (std::find(present.begin(), present.end(), id) == present.end()) present.push_back(id);
  }

  void note_end(std::size_t row, std::span<const float> logits) {
    std::int32_t best = limits_.end_tokens[0];
    for (const std::int32_t end : limits_.end_tokens) {
      if (logits[static_cast<std::size_t>(end)] > logits[static_cast<std::size_t>(best)]) {
        best = end;
      }
    }
    const double log_prob = log_probability(logits, best);
    const double total = sums_[row] + log_prob;
    if (ends_[row] && total <= ends_[row]->total) return;
    ends_[row] = {.step = rows_[row].ids.size(), .id = best, .log_prob = log_prob, .total = total};
  }

  // Without an end, because of min_decode_steps, the row stays as it is.
  void end_where_likeliest(std::size_t row) {
    DecodedRow& decoded = rows_[row];
    if (ends_[row]) {
      decoded.ids.resize(ends_[row]->step);
      decoded.log_probs.resize(ends_[row]->step);
    }
    for (std::size_t i = 0; on_token_ && i < decoded.ids.size(); ++i) {
      if (on_token_(row, decoded.ids[i])) continue;
      decoded.ids.resize(i + 1);
      decoded.log_probs.resize(i + 1);
      decoded.ended = true;
      return;
    }
    if (!ends_[row]) return;
    decoded.ids.push_back(ends_[row]->id);
    decoded.log_probs.push_back(ends_[row]->log_prob);
    decoded.ended = true;
  }

  DecoderState& model_;
  const SampleBatch& batch_;
  const DecodeLimits& limits_;
  const OnToken& on_token_;
  std::size_t width_;
  std::vector<DecodedRow> rows_;
  std::vector<double> sums_;  // of log probabilities
  std::vector<std::optional<BestEnd>> ends_;
  std::vector<Tokens> present_;       // tokens to penalize, each once
  std::vector<std::size_t> at_work_;  // row i of the model is this row
};

}  // namespace

std::vector<DecodedRow> sample_decode(DecoderState& model, const SampleBatch& batch,
                                      const DecodeLimits& limits, const OnToken& on_token) {
  if (batch.prompts.empty()) return {};
  return SampleDecoder(model, batch, limits, on_token).decode();
}

}  // namespace trivet::lm
