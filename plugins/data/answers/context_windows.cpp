// SPDX-License-Identifier: Apache-2.0
#include "data/answers/context_windows.h"

#include <algorithm>

#include "data/tokens/tokenize.h"

namespace trivet::data {
namespace {

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= 'a' && byte <= 'z') || byte >= 0x80;
}

}  // namespace

ContextTokens tokenize_context(const Tokenizer& tokenizer, std::string_view context,
                               const std::string& location) {
  ContextTokens tokens;
  for (std::size_t begin = 0; begin < context.size();) {
    if (is_blank(context[begin])) {
      ++begin;
      continue;
    }
    std::size_t end = begin + 1;
    if (is_word(context[begin])) {
      while (end < context.size() && is_word(context[end])) ++end;
    }
    const bool follows_blank = begin > 0 && is_blank(context[begin - 1]);
    const std::string piece =
        (follows_blank ? " " : "") + std::string(context.substr(begin, end - begin));
    for (const std::int32_t id : encode_checked(tokenizer, piece, location)) {
      tokens.ids.push_back(id);
      tokens.begins.push_back(static_cast<std::int32_t>(begin));
      tokens.ends.push_back(static_cast<std::int32_t>(end));
    }
    begin = end;
  }
  return tokens;
}

std::vector<ContextWindow> windows_of(std::int64_t tokens, std::int64_t room, std::int64_t stride) {
  std::vector<ContextWindow> windows;
  for (std::int64_t begin = 0;; begin += std::min(room, stride)) {
    windows.push_back({begin, std::min(tokens - begin, room)});
    if (begin + room >= tokens) return windows;
  }
}

std::size_t best_window(const std::vector<ContextWindow>& windows, std::int64_t token) {
  std::size_t best = 0;
  double most = -1;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const auto& [begin, length] = windows[i];
    if (token < begin || token >= begin + length) continue;
    const double score = static_cast<double>(std::min(token - begin, begin + length - 1 - token)) +
                         0.01 * static_cast<double>(length);
    if (score > most) {
      most = score;
      best = i;
    }
  }
  return best;
}

}  // namespace trivet::data
