// SPDX-License-Identifier: Apache-2.0
#include "trivet/os/text_check.h"

#include <array>
#include <utility>

#include "trivet/error.h"
#include "trivet/text/utf8.h"

namespace trivet {
namespace {

using namespace std::string_view_literals;

struct ForeignForm {
  std::string_view front;
  std::string_view name;
};

// Compressed forms that are not read here, as file(1) knows them.
constexpr std::array kForeignForms = {ForeignForm{"BZh"sv, "bzip2"},
                                      ForeignForm{"\xFD"
                                                  "7zXZ\0"sv,
                                                  "xz"},
                                      ForeignForm{"PK\x03\x04"sv, "zip"},
                                      ForeignForm{"7z\xBC\xAF\x27\x1C"sv, "7-Zip"},
                                      ForeignForm{"\x04\x22\x4D\x18"sv, "lz4"}};

}  // namespace

TextCheck::TextCheck(std::string name, std::string hint)
    : name_(std::move(name)), hint_(std::move(hint)) {}

void TextCheck::refuse(const std::string& why) const {
  for (const ForeignForm& form : kForeignForms) {
    if (!front_.starts_with(form.front)) continue;
    throw InputError(
        name_ + ": is compressed with " + std::string(form.name) + ", which is not read here",
        {.hint = "unpack it; gzip and zstd are read"});
  }
  if (front_.starts_with("\xFF\xFE") || front_.starts_with("\xFE\xFF")) {
    throw InputError(name_ + ": is UTF-16", {.hint = "save it as UTF-8"});
  }
  throw InputError(name_ + ": is no text: " + why, {.hint = hint_});
}

void TextCheck::add(std::string_view piece) {
  constexpr std::size_t kFront = 8;
  if (front_.size() < kFront) front_ += piece.substr(0, kFront - front_.size());
  if (const std::size_t zero = piece.find('\0'); zero != std::string_view::npos) {
    refuse("byte " + std::to_string(bytes_ + zero + 1) + " of it is 0");
  }
  bytes_ += piece.size();
  while (const auto bad = find_invalid_utf8(piece)) {
    ++invalid_;
    piece.remove_prefix(*bad + 1);
  }
}

void TextCheck::finish() const {
  if (invalid_ * 10 <= bytes_) return;
  refuse(std::to_string(invalid_) + " of its " + std::to_string(bytes_) + " bytes are no UTF-8");
}

}  // namespace trivet
