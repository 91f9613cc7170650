// SPDX-License-Identifier: Apache-2.0
#include "tokenizers/text/unicode.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

#include "trivet/error.h"

namespace trivet::tokenizers {
namespace {

utf8proc_category_t category_of(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

utf8proc_option_t options_of(NormalForm form) {
  switch (form) {
    case NormalForm::nfc:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    case NormalForm::nfd:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
    case NormalForm::nfkc:
      return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT);
    case NormalForm::nfkd:
      break;
  }
  return static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
}

}  // namespace

bool is_white_space(char32_t c) {
  return (c >= 0x9 && c <= 0xD) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_number(char32_t c) {
  const auto category = category_of(c);
  return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool is_mark(char32_t c) {
  const auto category = category_of(c);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool is_nonspacing_mark(char32_t c) {
  return category_of(c) == UTF8PROC_CATEGORY_MN;
}

bool is_punctuation(char32_t c) {
  if (c < 0x80) {
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
  }
  const auto category = category_of(c);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool is_control(char32_t c) {
  const auto category = category_of(c);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_CO;
}

std::string to_normal_form(std::string_view text, NormalForm form) {
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &made, options_of(form));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owned(made, &std::free);
  if (length < 0) {
    throw InputError(std::string("the text cannot be normalized: ") + utf8proc_errmsg(length));
  }
  return {reinterpret_cast<const char*>(made), static_cast<std::size_t>(length)};
}

std::string to_lower_case(std::string_view text) {
  // Of all characters that change alone, only this one becomes two (SpecialCasing.txt).
  constexpr char32_t kDottedCapitalI = 0x130, kDotAbove = 0x307;
  std::string lower;
  lower.reserve(text.size());
  for_each_character(text, [&](char32_t c, std::string_view bytes) {
    if (c < 0x80) {
      lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
    } else if (c == kDottedCapitalI) {
      lower += 'i';
      append_utf8(kDotAbove, lower);
    } else {
      const auto other = static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
      if (other == c) {
        lower += bytes;
      } else {
        append_utf8(other, lower);
      }
    }
  });
  return lower;
}

std::size_t grapheme_length(std::string_view text) {
  CodePoint point = first_code_point(text);
  std::size_t end = point.length == 0 ? 1 : point.length;
  utf8proc_int32_t state = 0;
  while (end < text.size()) {
    const CodePoint next = first_code_point(text.substr(end));
    if (next.length == 0 ||
        utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(point.value),
                                         static_cast<utf8proc_int32_t>(next.value), &state)) {
      return end;
    }
    end += next.length;
    point = next;
  }
  return end;
}

}  // namespace trivet::tokenizers
