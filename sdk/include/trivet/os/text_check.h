// SPDX-License-Identifier: Apache-2.0
// TextCheck: whether a file is text; input_file.h has an example.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trivet/base/export.h"

namespace trivet {

// Refuses what is no text: with a zero byte in it, or of which more than a tenth is no UTF-8 (text
// of another encoding that is mostly ASCII passes).
class TRIVET_API TextCheck {
 public:
  // `hint` says what to do with a file that is refused.
  TextCheck(std::string name, std::string hint);
  // The text's pieces, cut anywhere. Throws InputError for a zero byte.
  void add(std::string_view piece);
  // Throws InputError where too little of the whole is UTF-8.
  void finish() const;

 private:
  [[noreturn]] void refuse(const std::string& why) const;
  std::string name_, hint_;
  std::string front_;  // the first bytes
  std::uint64_t bytes_ = 0, invalid_ = 0;
};

}  // namespace trivet
