// SPDX-License-Identifier: Apache-2.0
#include "trivet/text/utf8_stream.h"

#include <utility>

#include "trivet/text/utf8.h"

namespace trivet {

std::string Utf8Stream::push(std::string_view bytes) {
  held_ += bytes;
  std::string ready = std::exchange(held_, {});
  const std::size_t end = incomplete_utf8(ready);
  held_ = ready.substr(end);
  ready.resize(end);
  return ready;
}

std::string Utf8Stream::finish() {
  return std::exchange(held_, {});
}

}  // namespace trivet
