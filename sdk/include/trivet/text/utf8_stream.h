// SPDX-License-Identifier: Apache-2.0
// Utf8Stream: text that arrives in pieces, given on in whole characters. A token of a byte-level
// tokenizer may hold half a character; a terminal that gets the halves apart shows two errors.
//
// Example (sdk/examples/snippets/tokenizer.cpp#stream):
//
//   trivet::Utf8Stream stream;
//   for (std::int32_t id : generated) write(stream.push(tokenizer.token_text(id)));
//   write(stream.finish());
//
// Only what may still become a character is held back, three bytes at most. Bytes that cannot be
// UTF-8 whatever follows are passed on as they are: all results in a row are all pieces in a row.
#pragma once

#include <string>
#include <string_view>

#include "trivet/base/export.h"

namespace trivet {

class TRIVET_API Utf8Stream {
 public:
  // What can be shown now: everything so far but the beginning of a character at its end.
  std::string push(std::string_view bytes);

  // What was held back. Then the stream is as new.
  std::string finish();

 private:
  std::string held_;
};

}  // namespace trivet
