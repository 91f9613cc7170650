// SPDX-License-Identifier: Apache-2.0
#include "data/answers/context_pieces.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "trivet/text/utf8.h"

namespace trivet::data {
namespace {

enum class PieceKind { space, single, word };

// _is_chinese_char of tokenization.py.
bool is_ideograph(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kBlocks[] = {
      {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},   {0x20000, 0x2A6DF},
      {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B820, 0x2CEAF}, {0x2F800, 0x2FA1F}};
  return std::ranges::any_of(
      kBlocks, [&](const auto& block) { return c >= block.first && c <= block.second; });
}

PieceKind ascii_kind(char32_t c) {
  if (c == ' ' || (c >= '\t' && c <= '\r')) return PieceKind::space;
  const bool is_symbol = (c >= '!' && c <= '/') || (c >= ':' && c <= '@') ||
                         (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
  return is_symbol ? PieceKind::single : PieceKind::word;
}

PieceKind kind_of(char32_t c) {
  if (c < 0x80) return ascii_kind(c);
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return PieceKind::space;
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return PieceKind::single;
    default:
      return is_ideograph(c) ? PieceKind::single : PieceKind::word;
  }
}

}  // namespace

std::vector<TextPiece> pieces_of(std::string_view text) {
  std::vector<TextPiece> pieces;
  bool in_word = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const CodePoint next = first_code_point(text.substr(begin));
    const PieceKind kind = next.length == 0 ? PieceKind::word : kind_of(next.value);
    const std::size_t end = begin + std::max<std::size_t>(next.length, 1);
    if (kind == PieceKind::word && in_word) {
      pieces.back().end = end;
    } else if (kind != PieceKind::space) {
      pieces.push_back({begin, end});
    }
    in_word = kind == PieceKind::word;
    begin = end;
  }
  return pieces;
}

}  // namespace trivet::data
