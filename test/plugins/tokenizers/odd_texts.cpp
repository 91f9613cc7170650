// SPDX-License-Identifier: Apache-2.0
#include "odd_texts.h"

#include <utf8proc.h>

#include <array>
#include <initializer_list>
#include <random>
#include <string_view>

#include "trivet/text/utf8.h"

namespace trivet::test {
namespace {

struct Range {
  char32_t first, last;
};

// Blocks without characters that came later than Unicode 6.1.
constexpr Range kRanges[] = {
    {0x21, 0x7E},       {0xA1, 0xFF},       {0x100, 0x17F},     {0x180, 0x24F},
    {0x250, 0x2AF},     {0x2B0, 0x2FF},     {0x300, 0x36F},     {0x370, 0x377},
    {0x388, 0x3FF},     {0x400, 0x4FF},     {0x5D0, 0x5EA},     {0x5B0, 0x5C7},
    {0x621, 0x652},     {0x660, 0x669},     {0x671, 0x6D3},     {0x904, 0x939},
    {0x93E, 0x94D},     {0x966, 0x96F},     {0xE01, 0xE3A},     {0xE40, 0xE5B},
    {0x1100, 0x1112},   {0x1161, 0x1175},   {0x11A8, 0x11C2},   {0x1E00, 0x1EFF},
    {0x1F00, 0x1F15},   {0x2010, 0x2027},   {0x2030, 0x205E},   {0x2070, 0x2071},
    {0x2074, 0x208E},   {0x20A0, 0x20B9},   {0x2100, 0x214F},   {0x2150, 0x2188},
    {0x2190, 0x21FF},   {0x2200, 0x22FF},   {0x2460, 0x24FF},   {0x2500, 0x257F},
    {0x2600, 0x26FF},   {0x2776, 0x2793},   {0x3001, 0x303F},   {0x3041, 0x3096},
    {0x3099, 0x30FF},   {0x3131, 0x318E},   {0x3200, 0x321E},   {0x3380, 0x33FF},
    {0x3400, 0x3410},   {0x4E00, 0x4E80},   {0x9F00, 0x9FA5},   {0xAC00, 0xAC80},
    {0xD780, 0xD7A3},   {0xE000, 0xE003},   {0xF900, 0xF930},   {0xFB00, 0xFB06},
    {0xFB1D, 0xFB36},   {0xFE00, 0xFE0F},   {0xFE20, 0xFE26},   {0xFE30, 0xFE52},
    {0xFE70, 0xFE74},   {0xFF01, 0xFF9F},   {0xFFE0, 0xFFE6},   {0xFFFC, 0xFFFD},
    {0x10330, 0x1034A}, {0x10400, 0x1044F}, {0x1D400, 0x1D454}, {0x1D7CE, 0x1D7FF},
    {0x1F600, 0x1F610}, {0x1F300, 0x1F320}, {0x20000, 0x20010}, {0x2F800, 0x2F810},
    {0xE0020, 0xE0030}};

constexpr std::string_view kSpans[] = {" ",
                                       " ",
                                       " ",
                                       "  ",
                                       "   ",
                                       "\t",
                                       "\n",
                                       "\n\n",
                                       "\r\n",
                                       "\r",
                                       " \n ",
                                       "\v",
                                       "\f",
                                       "\u0085",
                                       "\u00a0",
                                       "\u1680",
                                       "\u2002\u2003",
                                       "\u2028",
                                       "\u2029",
                                       "\u202f",
                                       "\u205f",
                                       "\u3000",
                                       "\u200b",
                                       "\u200c",
                                       "\u200d",
                                       "\ufeff",
                                       "\u2060",
                                       "\u00ad",
                                       "\u2581",
                                       "\u180e",
                                       "'s",
                                       "'S",
                                       "'t",
                                       "'re",
                                       "'VE",
                                       "'m",
                                       "'ll",
                                       "'LL",
                                       "'d",
                                       "'D",
                                       "\u2019s",
                                       "'\u017f",
                                       "n't",
                                       " 'm ",
                                       " do not",
                                       " .",
                                       " ?",
                                       " ,",
                                       "...",
                                       "--",
                                       "don't",
                                       "We'll",
                                       "I'M",
                                       "e\u0301",
                                       "A\u030a\u0301",
                                       "\u01c4",
                                       "\u0130",
                                       "\u0131",
                                       "\u1e9e",
                                       "\u00df",
                                       "\u03a3\u03b1\u03a3",
                                       "\u212a",
                                       "\u212b",
                                       "\ufb01",
                                       "\u3392",
                                       "\u0958",
                                       "\u1100\u1161\u11a8",
                                       "\U0001F468\u200D"
                                       "\U0001F469\u200D\U0001F467",
                                       "\U0001F44D\U0001F3FD",
                                       "\u2764\ufe0f",
                                       "\U0001F1E9\U0001F1EA",
                                       "1\ufe0f\u20e3",
                                       "0",
                                       "42",
                                       "1234567",
                                       "3.14",
                                       "1,000",
                                       "\u0663\u0664",
                                       "\u00bd",
                                       "\u00b2",
                                       "\u2167",
                                       "Hello",
                                       "world",
                                       "the",
                                       "The",
                                       "ing",
                                       "HTTPServer",
                                       "camelCase",
                                       "snake_case",
                                       "\u4f60\u597d",
                                       "\u3053\u3093",
                                       "\ud55c\uad6d",
                                       "\u041f\u0440\u0438",
                                       "na\u00efve",
                                       "\x01",
                                       "\x1b[0m",
                                       "\x7f",
                                       "\u009f",
                                       "<s>",
                                       "</s>",
                                       "<mask>",
                                       "[MASK]",
                                       "word",
                                       "wordy",
                                       "<0x0A>",
                                       "[UNK]",
                                       "<unk>",
                                       "##ing",
                                       "\\",
                                       "http://a.b/c?d=e",
                                       "{}()[]",
                                       "$1",
                                       "a_b",
                                       "\u0e01\u0e33"};

class TextMaker {
 public:
  explicit TextMaker(std::uint64_t seed) : random_(seed) {
    for (const Range& range : kRanges) {
      for (char32_t c = range.first; c <= range.last; ++c) {
        if (utf8proc_category(static_cast<utf8proc_int32_t>(c)) != UTF8PROC_CATEGORY_CN) {
          blocks_[block_count_ % blocks_.size()].push_back(c);
        }
      }
      ++block_count_;
    }
  }

  std::string text() {
    std::string made;
    for (std::size_t left = below(24); left > 0; --left) append_span(made);
    return made;
  }

 private:
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  void append_span(std::string& made) {
    switch (below(8)) {
      case 0: {  // characters of one block
        const auto& block = blocks_[below(blocks_.size())];
        for (std::size_t left = below(6); left > 0; --left) {
          append_utf8(block[below(block.size())], made);
        }
        return;
      }
      case 1: {  // one character of any block, several times
        const auto& block = blocks_[below(blocks_.size())];
        const char32_t c = block[below(block.size())];
        for (std::size_t left = below(4); left > 0; --left) append_utf8(c, made);
        return;
      }
      case 2:  // small letters
        for (std::size_t left = below(9); left > 0; --left) {
          made += static_cast<char>('a' + below(26));
        }
        return;
      case 3:  // digits
        for (std::size_t left = below(7); left > 0; --left) {
          made += static_cast<char>('0' + below(10));
        }
        return;
      case 4:
        made += ' ';
        return;
      default:
        made += kSpans[below(std::size(kSpans))];
    }
  }

  std::mt19937_64 random_;
  std::array<std::vector<char32_t>, std::size(kRanges)> blocks_;
  std::size_t block_count_ = 0;
};

}  // namespace

std::vector<std::string> odd_texts(std::size_t count, std::uint64_t seed) {
  TextMaker maker(seed);
  std::vector<std::string> texts;
  while (texts.size() < count) texts.push_back(maker.text());
  return texts;
}

}  // namespace trivet::test
