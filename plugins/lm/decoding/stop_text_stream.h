// SPDX-License-Identifier: Apache-2.0
// The text of one continuation while its tokens come: given on in whole characters, up to a stop
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
  // What it is given outlives it. Empty stop texts are none.
  StopTextStream(const Tokenizer& tokenizer, std::span<const std::string> stop, OnPiece on_piece);

  // False when a stop text was completed: it and what comes behind it are left out.
  bool push(std::int32_t id);
  // Nothing more comes.
  void finish();

  const std::string& text() const { return text_; }
  bool stopped() const { return stopped_; }

 private:
  void give(std::string_view piece);

  const Tokenizer& tokenizer_;
  std::span<const std::string> stop_;
  OnPiece on_piece_;
  std::size_t longest_stop_ = 0;
  std::string held_;  // what may be the beginning of a stop text
  std::string text_;
  Utf8Stream characters_;
  bool stopped_ = false;
};

}  // namespace trivet::lm
