// SPDX-License-Identifier: Apache-2.0
// Streams the text of one continuation while its tokens arrive, in whole characters, up to a stop
// text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "trivet/text/utf8_stream.h"
#include "trivet/tokenizer.h"

namespace trivet::lm {

class StopTextStream {
 public:
  using OnPiece = std::function<void(std::string_view piece)>;
  // The arguments must outlive the stream. Empty stop texts are ignored.
  StopTextStream(const Tokenizer& tokenizer, std::span<const std::string> stop, OnPiece on_piece);

  // Returns false when a stop text is complete. The stop text and everything after it are dropped.
  bool push(std::int32_t id);
  // Call at the end of the continuation.
  void finish();

  const std::string& text() const { return text_; }
  bool stopped() const { return stopped_; }

 private:
  void give(std::string_view piece);

  const Tokenizer& tokenizer_;
  std::span<const std::string> stop_;
  OnPiece on_piece_;
  std::size_t longest_stop_ = 0;
  std::string held_;  // a possible start of a stop text
  std::string text_;
  Utf8Stream characters_;
  bool stopped_ = false;
};

}  // namespace trivet::lm
