// SPDX-License-Identifier: Apache-2.0
// Builds text without allocating memory, for signal handlers. Input may come from files and
// plugins, so control characters are removed.
#pragma once

#include <unistd.h>

#include <cstddef>

namespace trivet {

class SignalSafeText {
 public:
  SignalSafeText& operator<<(const char* text) {
    for (; *text != '\0' && used_ < sizeof buffer_; ++text) {
      const auto byte = static_cast<unsigned char>(*text);
      buffer_[used_++] = (byte < 0x20 && byte != '\n') || byte == 0x7F ? ' ' : *text;
    }
    return *this;
  }
  void print() const { (void)!::write(STDERR_FILENO, buffer_, used_); }

 private:
  char buffer_[8192];
  std::size_t used_ = 0;
};

}  // namespace trivet
