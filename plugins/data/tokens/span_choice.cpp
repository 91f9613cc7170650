// SPDX-License-Identifier: Apache-2.0
#include "data/tokens/span_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

namespace trivet::data {
namespace {

struct Span {
  std::size_t begin = 0, end = 0;
};

std::vector<float> uniforms(RngKey key, std::size_t count) {
  std::vector<float> draws(count);
  random_uniform(key, 0, 1, draws);
  return draws;
}

void shuffle(RngKey key, std::vector<Span>& spans) {
  const std::vector<float> draws = uniforms(key, spans.size());
  std::vector<std::size_t> order(spans.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return draws[i]; });
  std::vector<Span> shuffled;
  for (const std::size_t i : order) shuffled.push_back(spans[i]);
  spans = std::move(shuffled);
}

// One span for each unit of a row.
std::vector<Span> units(std::span<const std::size_t> begins) {
  std::vector<Span> spans;
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) spans.push_back({begins[i], begins[i + 1]});
  return spans;
}

// The length of a span, by a number of [0, 1).
std::int64_t length_at(const SpanRules& rules, double draw) {
  double all = 0, sum = 0;
  const auto share = [](std::int64_t length) { return 1 / (static_cast<double>(length) + 1); };
  for (std::int64_t length = rules.min_length; length <= rules.max_length; ++length) {
    all += share(length);
  }
  for (std::int64_t length = rules.min_length; length < rules.max_length; ++length) {
    sum += share(length);
    if (draw * all < sum) return length;
  }
  return rules.max_length;
}

// Spans of units of a row, in `alpha` times as many units.
std::vector<Span> parted_spans(const SpanRules& rules, RngKey key, double alpha,
                               std::int64_t units) {
  const auto count = static_cast<std::size_t>(rules.max_predictions);
  const std::vector<float> lengths = uniforms(key.fold("length"), count);
  const std::vector<float> lefts = uniforms(key.fold("left"), count);
  std::vector<Span> spans;
  std::int64_t part = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t own = length_at(rules, lengths[i]);
    const auto length = static_cast<double>(own);
    const auto left = std::llrint(static_cast<double>(lefts[i]) * length * (alpha - 1));
    const std::int64_t begin = part + left, end = begin + own;
    part += std::llrint(length * alpha);
    if (end >= units) continue;
    spans.push_back({static_cast<std::size_t>(begin), static_cast<std::size_t>(end)});
  }
  return spans;
}

// In the order in which they are chosen.
std::vector<Span> spans_of(const SpanRules& rules, RngKey key, std::size_t length,
                           std::span<const std::size_t> word_begins) {
  const double alpha = static_cast<double>(length) / static_cast<double>(rules.max_predictions);
  std::vector<Span> spans;
  switch (rules.strategy) {
    case SampleStrategy::single_token: {
      for (std::size_t i = 0; i < length; ++i) spans.push_back({i, i + 1});
      break;
    }
    case SampleStrategy::whole_word: {
      spans = units(word_begins);
      break;
    }
    case SampleStrategy::token_span: {
      spans = parted_spans(rules, key, alpha, static_cast<std::int64_t>(length));
      break;
    }
    case SampleStrategy::word_span: {
      spans = parted_spans(rules, key, alpha / kTokensOfWord, std::ssize(word_begins) - 1);
      for (Span& span : spans) span = {word_begins[span.begin], word_begins[span.end]};
      break;
    }
  }
  shuffle(key.fold("order"), spans);
  return spans;
}

bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

bool continues_word(const Tokenizer& tokenizer, std::int32_t before, std::int32_t id) {
  const std::string first = tokenizer.decode(std::array{before});
  const std::string both = tokenizer.decode(std::array{before, id});
  if (!both.starts_with(first) || both.size() == first.size()) return false;
  if (is_space(both[first.size()])) return false;
  // A space of its own belongs to the word after it.
  return first.empty() || !is_space(first.back()) || std::ranges::all_of(first, is_space);
}

}  // namespace

std::vector<bool> choose_spans(const SpanRules& rules, RngKey key,
                               const std::vector<bool>& is_candidate,
                               std::span<const std::size_t> word_begins) {
  std::vector<bool> chosen(is_candidate.size());
  std::int64_t left = rules.max_predictions;
  for (const Span& span : spans_of(rules, key, is_candidate.size(), word_begins)) {
    for (std::size_t i = span.begin; i < span.end && left > 0; ++i) {
      if (!is_candidate[i] || chosen[i]) continue;
      chosen[i] = true;
      --left;
    }
  }
  return chosen;
}

std::vector<std::size_t> word_begins_of(const Tokenizer& tokenizer,
                                        std::span<const std::int32_t> ids,
                                        const std::vector<bool>& is_candidate) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool follows = i > 0 && is_candidate[i - 1] && is_candidate[i];
    if (!follows || !continues_word(tokenizer, ids[i - 1], ids[i])) begins.push_back(i);
  }
  begins.push_back(ids.size());
  return begins;
}

}  // namespace trivet::data
