// SPDX-License-Identifier: Apache-2.0
#include "lm/text_metrics/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <unordered_map>

#include "lm/text_metrics/words.h"
#include "trivet/error.h"

namespace trivet::lm {
namespace {

using Tokens = std::vector<std::string>;
using Counts = std::unordered_map<std::string, std::int64_t>;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The ASCII marks but ' , - . of the first rule; a blank is among them.
bool is_mark(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

bool is_point(char c) {
  return c == '.' || c == ',';
}

// Rules of two characters: where `matches`, `write` adds what replaces both.
template <class Matches, class Write>
std::string replace_pairs(std::string_view text, const Matches& matches, const Write& write) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (i + 1 < text.size() && matches(text[i], text[i + 1])) {
      write(out, text[i], text[i + 1]);
      i += 2;
    } else {
      out += text[i++];
    }
  }
  return out;
}

// n-grams of one order; a byte that no token has joins their words.
Counts ngrams_of(const Tokens& tokens, std::size_t order) {
  Counts counts;
  for (std::size_t i = 0; i + order <= tokens.size(); ++i) {
    std::string gram;
    for (std::size_t j = i; j < i + order; ++j) gram += tokens[j] + '\n';
    ++counts[gram];
  }
  return counts;
}

std::int64_t closest_length(const std::vector<Tokens>& references, std::int64_t length) {
  std::int64_t best = std::ssize(references.front());
  for (const Tokens& reference : references) {
    const std::int64_t own = std::ssize(reference);
    const std::int64_t apart = std::abs(own - length), best_apart = std::abs(best - length);
    if (apart < best_apart || (apart == best_apart && own < best)) best = own;
  }
  return best;
}

}  // namespace

std::string tokenize_13a(std::string_view text) {
  std::string line(text);
  replace_all(line, "<skipped>", "");
  replace_all(line, "-\n", "");
  replace_all(line, "\n", " ");
  replace_all(line, "&quot;", "\"");
  replace_all(line, "&amp;", "&");
  replace_all(line, "&lt;", "<");
  replace_all(line, "&gt;", ">");
  std::string marked = " ";
  for (const char c : line + " ") {
    if (is_mark(c)) {
      marked.append({' ', c, ' '});
    } else {
      marked += c;
    }
  }
  const auto split_after = [](std::string& out, char a, char b) { out.append({a, ' ', b, ' '}); };
  const auto split_before = [](std::string& out, char a, char b) { out.append({' ', a, ' ', b}); };
  std::string split = replace_pairs(
      marked, [](char a, char b) { return !is_digit(a) && is_point(b); }, split_after);
  split = replace_pairs(
      split, [](char a, char b) { return is_point(a) && !is_digit(b); }, split_before);
  return replace_pairs(
      split, [](char a, char b) { return is_digit(a) && b == '-'; }, split_after);
}

Bleu::Bleu(const Config& config)
    : name_(config.name.empty() ? "bleu" : config.name), tokenize_(config.tokenize) {}

std::vector<std::string> Bleu::tokens_of(std::string_view text) const {
  switch (tokenize_) {
    case BleuTokens::characters:
      return split_characters(text);
    case BleuTokens::none:
      return split_words(text);
    case BleuTokens::v13a:
      break;
  }
  return split_words(tokenize_13a(text));
}

void Bleu::add(std::string_view decoded, std::span<const std::string> references) {
  const Tokens told = tokens_of(decoded);
  std::vector<Tokens> truths;
  for (const std::string& reference : references) truths.push_back(tokens_of(reference));
  length_ += std::ssize(told);
  reference_length_ += closest_length(truths, std::ssize(told));
  for (std::size_t order = 1; order <= kOrders; ++order) {
    Counts most;
    for (const Tokens& truth : truths) {
      for (const auto& [gram, count] : ngrams_of(truth, order)) {
        std::int64_t& kept = most[gram];
        kept = std::max(kept, count);
      }
    }
    for (const auto& [gram, count] : ngrams_of(told, order)) {
      total_[order - 1] += count;
      const auto found = most.find(gram);
      if (found != most.end()) correct_[order - 1] += std::min(count, found->second);
    }
  }
}

double Bleu::score() const {
  if (std::ranges::all_of(correct_, [](std::int64_t n) { return n == 0; })) return 0;
  double sum = 0, smoothing = 1;
  for (std::size_t i = 0; i < kOrders; ++i) {
    if (total_[i] == 0) return 0;  // no text has so many tokens
    const auto total = static_cast<double>(total_[i]);
    if (correct_[i] == 0) smoothing *= 2;
    sum += std::log(correct_[i] > 0 ? static_cast<double>(correct_[i]) / total
                                    : 1 / (smoothing * total));
  }
  const double ratio = static_cast<double>(reference_length_) / static_cast<double>(length_);
  const double brevity = ratio > 1 ? std::exp(1 - ratio) : 1;
  return 100 * brevity * std::exp(sum / static_cast<double>(kOrders));
}

Logs Bleu::result() const {
  Logs logs;
  logs.set(name_, score());
  return logs;
}

void Bleu::reset_state() {
  correct_ = total_ = {};
  length_ = reference_length_ = 0;
}

Value Bleu::save_state() const {
  return Value::table({{"correct", Value::Array(correct_.begin(), correct_.end())},
                       {"total", Value::Array(total_.begin(), total_.end())},
                       {"length", length_},
                       {"reference_length", reference_length_}});
}

void Bleu::merge(const Value& state) {
  const std::string owner = "the state of the text metric " + name_;
  const auto add = [&](const char* key, std::array<std::int64_t, kOrders>& counts) {
    const Value::Array& saved = state.at(key, owner).items();
    if (saved.size() != kOrders) throw Error(owner + " has other n-grams");
    for (std::size_t i = 0; i < kOrders; ++i) counts[i] += saved[i].as_integer();
  };
  add("correct", correct_);
  add("total", total_);
  length_ += state.at("length", owner).as_integer();
  reference_length_ += state.at("reference_length", owner).as_integer();
}

}  // namespace trivet::lm
