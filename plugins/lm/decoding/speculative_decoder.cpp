// SPDX-License-Identifier: Apache-2.0
#include "lm/decoding/speculative_decoder.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "trivet/error.h"

namespace trivet::lm {
namespace {

// The likeliest token; NaN is less than any other.
std::int32_t likeliest(std::span<const float> logits) {
  std::size_t best = 0;
  for (std::size_t id = 1; id < logits.size(); ++id) {
    if (logits[id] > logits[best] || std::isnan(logits[best])) best = id;
  }
  return static_cast<std::int32_t>(best);
}

}  // namespace

SpeculativeDecoder::SpeculativeDecoder(CachedDecoder& model, CachedDecoder& draft,
                                       std::int64_t longest_draft, std::int64_t guesses)
    : model_(model),
      draft_(draft),
      longest_draft_(longest_draft),
      most_guesses_(guesses),
      guesses_(guesses) {}

std::vector<float> SpeculativeDecoder::start(std::span<const std::vector<std::int32_t>> prompts) {
  if (prompts.size() != 1) throw Error("speculative decoding takes one prompt at a time");
  text_ = prompts[0], draft_text_.clear(), ahead_.clear();
  std::vector<float> logits = model_.start(prompts);
  const bool fits = longest_draft_ == 0 || std::ssize(text_) <= longest_draft_;
  if (fits) draft_.start(prompts), draft_text_ = text_;
  for (const auto& [name, decoder] : {std::pair("model", &model_), {"draft", &draft_}}) {
    if ((decoder == &draft_ && !fits) || decoder->can_remove_last()) continue;
    throw UsageError("speculative decoding needs a " + std::string(name) +
                         " whose layers can give positions back, and a layer of this one cannot",
                     {.hint = "layers of attention can, unless their positions are those of "
                              "Transformer-XL; recurrent layers and convolutions cannot"});
  }
  return logits;
}

std::vector<float> SpeculativeDecoder::extend(std::span<const std::int32_t> ids) {
  const std::int32_t id = ids[0];
  text_.push_back(id);
  if (!ahead_.empty() && ahead_.front().guess == id) {
    ++accepted_;
    std::vector<float> logits = std::move(ahead_.front().logits);
    ahead_.pop_front();
    return logits;
  }
  if (!ahead_.empty()) {
    guesses_ = std::max<std::int64_t>(1, guesses_ - 1);
  } else if (guessed_ > 0) {
    guesses_ = std::min(most_guesses_, guesses_ + 2);
  }
  model_.remove_last(std::ssize(ahead_));
  ahead_.clear();
  const std::vector<std::int32_t> guesses = guess();
  guessed_ += std::ssize(guesses);
  std::vector<std::int32_t> chunk = {id};
  chunk.insert(chunk.end(), guesses.begin(), guesses.end());
  const std::vector<float> all = model_.extend_by(chunk);
  const auto width = static_cast<std::ptrdiff_t>(vocabulary_size());
  auto at = all.begin() + width;
  for (const std::int32_t each : guesses) {
    ahead_.push_back({each, {at, at + width}});
    at += width;
  }
  return {all.begin(), all.begin() + width};
}

// What the draft would write after the text.
std::vector<std::int32_t> SpeculativeDecoder::guess() {
  std::int64_t most = std::min(guesses_, model_.free_positions() - 1);
  if (longest_draft_ > 0) most = std::min(most, longest_draft_ - std::ssize(text_));
  if (most <= 0 || draft_text_.empty()) return {};
  const auto [in_draft, in_text] = std::ranges::mismatch(draft_text_, text_);
  draft_.remove_last(draft_text_.end() - in_draft);
  std::vector<std::int32_t> unread(in_text, text_.end());
  draft_text_ = text_;
  std::vector<std::int32_t> guesses;
  for (;;) {
    const std::vector<float> all = draft_.extend_by(unread);
    const auto width = static_cast<std::size_t>(draft_.vocabulary_size());
    guesses.push_back(likeliest(std::span(all).last(width)));
    if (std::ssize(guesses) == most) return guesses;
    unread = {guesses.back()};
    draft_text_.push_back(guesses.back());
  }
}

// Rows are not exchanged, as there is one.
void SpeculativeDecoder::reorder(std::span<const std::int32_t> rows) {
  if (rows.size() > 1) throw Error("speculative decoding takes one prompt at a time");
}

}  // namespace trivet::lm
