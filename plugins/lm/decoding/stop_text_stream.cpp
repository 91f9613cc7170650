// SPDX-License-Identifier: Apache-2.0
#include "lm/decoding/stop_text_stream.h"

#include <algorithm>
#include <utility>

namespace trivet::lm {

StopTextStream::StopTextStream(const Tokenizer& tokenizer, std::span<const std::string> stop,
                               OnPiece on_piece)
    : tokenizer_(tokenizer), stop_(stop), on_piece_(std::move(on_piece)) {
  for (const std::string& text : stop_) longest_stop_ = std::max(longest_stop_, text.size());
}

bool StopTextStream::push(std::int32_t id) {
  if (tokenizer_.is_special(id)) return true;
  held_ += tokenizer_.token_text(id);
  std::size_t found = std::string::npos;
  for (const std::string& text : stop_) {
    if (!text.empty()) found = std::min(found, held_.find(text));
  }
  if (found != std::string::npos) {
    held_.resize(found);
    stopped_ = true;
    return false;
  }
  const std::size_t kept = longest_stop_ > 0 ? longest_stop_ - 1 : 0;
  if (held_.size() > kept) {
    const std::size_t safe = held_.size() - kept;
    give(characters_.push(std::string_view(held_).substr(0, safe)));
    held_.erase(0, safe);
  }
  return true;
}

void StopTextStream::finish() {
  give(characters_.push(held_));
  give(characters_.finish());
  held_.clear();
}

void StopTextStream::give(std::string_view piece) {
  if (piece.empty()) return;
  text_ += piece;
  if (on_piece_) on_piece_(piece);
}

}  // namespace trivet::lm
