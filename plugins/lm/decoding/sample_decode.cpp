// SPDX-License-Identifier: Apache-2.0
#include "lm/decoding/sample_decode.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "lm/decoding/token_sampler.h"
#include "trivet/error.h"

namespace trivet::lm {
namespace {

using Tokens = std::vector<std::int32_t>;

constexpr float kExcluded = -std::numeric_limits<float>::infinity();

// The most likely end of a row so far.
struct BestEnd {
  std::size_t step = 0;
  std::int32_t id = 0;
  double log_prob = 0;
  double total = 0;  // of the sequence that ends there
  std::vector<TokenProbability> top{};
  double entropy = 0;
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
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (is_at_work(row)) waiting_.push_back(row);
    }
    if (waiting_.empty()) return std::move(rows_);
    const std::vector<std::size_t> first = take(waiting_.size());
    std::vector<float> logits = model_.start(prompts_of(first));
    at_work_ = first;
    Tokens next = choose_all(logits);
    for (;;) {
      while (!waiting_.empty() && has_free_slots()) fill(next);
      if (next.empty()) return std::move(rows_);
      logits = model_.extend(with_unconditional(next));
      next = choose_all(logits);
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

  // Rows join in groups, for each time that rows join costs a copy of the caches.
  bool has_free_slots() const {
    const std::size_t free = batch_.slots - std::min(batch_.slots, at_work_.size());
    return free > 0 && (free >= batch_.slots / 4 || at_work_.empty());
  }

  // The next of the rows that wait, at most as many as there are free slots.
  std::vector<std::size_t> take(std::size_t most) {
    const std::size_t slots = batch_.slots == 0 ? waiting_.size() : batch_.slots;
    const auto count = static_cast<std::ptrdiff_t>(
        std::min({most, waiting_.size(), slots - std::min(slots, at_work_.size())}));
    const std::vector<std::size_t> taken(waiting_.begin(), waiting_.begin() + count);
    waiting_.erase(waiting_.begin(), waiting_.begin() + count);
    return taken;
  }

  // For the model: the prompts of the rows, then their unconditional ones.
  std::vector<Tokens> prompts_of(const std::vector<std::size_t>& rows) const {
    std::vector<Tokens> prompts;
    for (const std::size_t row : rows) prompts.push_back(batch_.prompts[row]);
    if (!is_guided()) return prompts;
    for (const std::size_t row : rows) prompts.push_back(batch_.unconditional[row]);
    return prompts;
  }

  Tokens with_unconditional(const Tokens& next) const {
    Tokens all = next;
    if (is_guided()) all.insert(all.end(), next.begin(), next.end());
    return all;
  }

  // Lets rows that wait take the free slots, and appends the first token of each to `next`.
  void fill(Tokens& next) {
    const std::vector<std::size_t> joining = take(waiting_.size());
    const std::vector<std::size_t> before = std::move(at_work_);
    const std::vector<float> logits = model_.insert(prompts_of(joining));
    if (is_guided()) {
      // The model has old rows, their unconditional ones, new rows, their unconditional ones.
      Tokens order;
      const std::size_t old = before.size(), fresh = joining.size();
      const auto add = [&](std::size_t first, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
          order.push_back(static_cast<std::int32_t>(first + i));
        }
      };
      add(0, old);
      add(2 * old, fresh);
      add(old, old);
      add(2 * old + fresh, fresh);
      model_.reorder(order);
    }
    at_work_ = joining;
    const Tokens chosen = choose_all(logits, before.size());
    next.insert(next.end(), chosen.begin(), chosen.end());
    at_work_.insert(at_work_.begin(), before.begin(), before.end());
  }

  // Chooses a token for each row at work, and returns those of the rows that continue, which stay
  // at work. The model has `before` rows before these.
  Tokens choose_all(std::span<const float> logits, std::size_t before = 0) {
    Tokens next;
    std::vector<std::size_t> still, kept;
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
      kept.push_back(i);
      still.push_back(row);
    }
    const bool is_over = before + still.size() == 0 && waiting_.empty();
    if (still.size() < count && !is_over) keep(kept, before, count);
    at_work_ = std::move(still);
    return next;
  }

  // Of the model's rows, `before` and then `count`, keeps the former and some of the latter.
  void keep(const std::vector<std::size_t>& kept, std::size_t before, std::size_t count) {
    Tokens rows;
    for (std::size_t half = 0; half < (is_guided() ? 2U : 1U); ++half) {
      const std::size_t first = half * (before + count);
      for (std::size_t i = 0; i < before; ++i) rows.push_back(static_cast<std::int32_t>(first + i));
      for (const std::size_t i : kept) {
        rows.push_back(static_cast<std::int32_t>(first + before + i));
      }
    }
    model_.reorder(rows);
  }

  std::int32_t choose(std::size_t row, std::vector<float> logits) {
    const DecodeConfig& config = config_of(row);
    DecodedRow& decoded = rows_[row];
    const std::size_t step = decoded.ids.size();
    const bool may_end = std::ssize(decoded.ids) >= config.min_decode_steps;
    if (config.optimize_eos && may_end) note_end(row, logits);
    const std::vector<float> as_given = logits;
    penalize(logits, present_[row], config.repetition_penalty);
    if (batch_.constraint != nullptr) {
      batch_.constraint->adjust(batch_.prompts[row], decoded.ids, logits);
    }
    if (config.optimize_eos || !may_end) {
      for (const std::int32_t end : limits_.end_tokens) {
        logits[static_cast<std::size_t>(end)] = -std::numeric_limits<float>::infinity();
      }
    }
    check_left(row, logits);
    const std::int32_t id = choose_token(logits, config, batch_.keys[row].fold(step));
    decoded.ids.push_back(id);
    decoded.log_probs.push_back(log_probability(as_given, id));
    sums_[row] += decoded.log_probs.back();
    if (batch_.top > 0) {
      decoded.top.push_back(top_log_probabilities(as_given, batch_.top));
      decoded.entropies.push_back(entropy(as_given));
    }
    if (config.repetition_penalty != 1) note(row, id);
    if (config.optimize_eos) return id;
    if (is_end(id) || (on_token_ && !on_token_(row, id))) decoded.ended = true;
    return id;
  }

  // Without a constraint there is always a token left, the likeliest.
  void check_left(std::size_t row, std::span<const float> logits) const {
    if (batch_.constraint == nullptr) return;
    const bool any = std::ranges::any_of(logits, [](float logit) { return logit > kExcluded; });
    if (any) return;
    throw UsageError(
        "task.decode.sample_constraint leaves no token after " +
            std::to_string(rows_[row].ids.size()) + " generated ones",
        {.hint = "the constraint may need another end token (task.decode.eos_ids), or fewer "
                 "min_decode_steps"});
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
    if (batch_.top == 0) return;
    ends_[row]->top = top_log_probabilities(logits, batch_.top);
    ends_[row]->entropy = entropy(logits);
  }

  // Without an end, because of min_decode_steps, the row stays as it is.
  void end_where_likeliest(std::size_t row) {
    DecodedRow& decoded = rows_[row];
    if (ends_[row]) {
      cut(decoded, ends_[row]->step);
    }
    for (std::size_t i = 0; on_token_ && i < decoded.ids.size(); ++i) {
      if (on_token_(row, decoded.ids[i])) continue;
      cut(decoded, i + 1);
      decoded.ended = true;
      return;
    }
    if (!ends_[row]) return;
    decoded.ids.push_back(ends_[row]->id);
    decoded.log_probs.push_back(ends_[row]->log_prob);
    if (batch_.top > 0) {
      decoded.top.push_back(std::move(ends_[row]->top));
      decoded.entropies.push_back(ends_[row]->entropy);
    }
    decoded.ended = true;
  }

  static void cut(DecodedRow& decoded, std::size_t tokens) {
    decoded.ids.resize(tokens);
    decoded.log_probs.resize(tokens);
    decoded.top.resize(std::min(decoded.top.size(), tokens));
    decoded.entropies.resize(std::min(decoded.entropies.size(), tokens));
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
  std::vector<std::size_t> waiting_;  // for a slot, in order
};

}  // namespace

std::vector<DecodedRow> sample_decode(DecoderState& model, const SampleBatch& batch,
                                      const DecodeLimits& limits, const OnToken& on_token) {
  if (batch.prompts.empty()) return {};
  return SampleDecoder(model, batch, limits, on_token).decode();
}

}  // namespace trivet::lm
