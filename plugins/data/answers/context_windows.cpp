// SPDX-License-Identifier: Apache-2.0
#include "data/answers/context_windows.h"

#include <algorithm>
#include <limits>

#include "data/answers/context_pieces.h"
#include "data/tokens/tokenize.h"
#include "trivet/error.h"

namespace trivet::data {

ContextTokens tokenize_context(const Tokenizer& tokenizer, std::string_view context,
                               const std::string& location) {
  if (context.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw InputError(location + ": the context has more than 2 GiB", {.hint = "split it"});
  }
  ContextTokens tokens;
  std::size_t last = 0;  // the end of the piece before
  for (const auto& [begin, end] : pieces_of(context)) {
    const std::string piece =
        (begin > last ? " " : "") + std::string(context.substr(begin, end - begin));
    for (const std::int32_t id : encode_checked(tokenizer, piece, location)) {
      tokens.ids.push_back(id);
      tokens.begins.push_back(static_cast<std::int32_t>(begin));
      tokens.ends.push_back(static_cast<std::int32_t>(end));
    }
    last = end;
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
  // Both ends of windows rise.
  auto window = std::ranges::partition_point(
      windows, [&](const ContextWindow& each) { return each.begin + each.length <= token; });
  for (; window != windows.end() && window->begin <= token; ++window) {
    const double score = static_cast<double>(std::min(token - window->begin,
                                                      window->begin + window->length - 1 - token)) +
                         0.01 * static_cast<double>(window->length);
    if (score > most) {
      most = score;
      best = static_cast<std::size_t>(window - windows.begin());
    }
  }
  return best;
}

}  // namespace trivet::data
